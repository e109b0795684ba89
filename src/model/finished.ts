/** Runs sliced work without a pause, for callers with nothing else to do meanwhile. */
export function finished<T>(slices: Generator<undefined, T>): T {
  let slice = slices.next();
  while (slice.done !== true) slice = slices.next();
  return slice.value;
}
