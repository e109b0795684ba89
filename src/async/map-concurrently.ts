// The same work for each of many items, a few of them at once: for requests to a server that should not be flooded.

/** Begins the items in their order. Resolves when all are done; rejects at the first failure, and begins no more then. */
export async function fewAtATime<T>(
  items: Iterable<T>,
  atOnceMax: number,
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
  await Promise.all(Array.from({ length: atOnceMax }, work));
}
