/** Does work that comes in slices in one go: for callers that have nothing else to do in between. */
export function finished<T>(slices: Generator<undefined, T>): T {
  let slice = slices.next();
  while (slice.done !== true) slice = slices.next();
  return slice.value;
}
