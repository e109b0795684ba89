/** A number as people read it: `250,000`. */
export function countWords(count: number): string {
  return count.toLocaleString("en-US");
}
