// Calls a function for each of many items with limited concurrency, so that a server is not flooded with requests.

/** Starts the items in order. Resolves when all are done. Rejects at the first failure, and then starts no further item. */
export async function mapConcurrently<T>(
  items: Iterable<T>,
  concurrencyMax: number,
  act: (item: T) => Promise<unknown>,
): Promise<void> {
  const queue = items[Symbol.iterator]();
  let failed = false;
  const work = async (): Promise<void> => {
    for (let next = queue.next(); next.done !== true && !failed; next = queue.next()) {
      try {
        await act(next.value);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: concurrencyMax }, work));
}
