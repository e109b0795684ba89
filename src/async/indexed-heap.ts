// A binary heap with one entry per key: the smallest rank first, and earlier entries first among equals. An entry can be
// moved or removed by its key, so that no stale entry remains.

interface Node<Key> {
  readonly key: Key;
  rank: number;
  /** Increases with each insertion, which keeps equal ranks in order of arrival. */
  sequence: number;
}

export class IndexedHeap<Key> {
  readonly #nodes: Node<Key>[] = [];
  readonly #positions = new Map<Key, number>();
  #sequence = 0;

  get size(): number {
    return this.#nodes.length;
  }

  has(key: Key): boolean {
    return this.#positions.has(key);
  }

  rankOf(key: Key): number | undefined {
    const position = this.#positions.get(key);
    return position === undefined ? undefined : this.#nodes[position]?.rank;
  }

  peek(): { readonly key: Key; readonly rank: number } | undefined {
    return this.#nodes[0];
  }

  /** Inserts the key or changes its rank; an existing key keeps its place among equals. */
  set(key: Key, rank: number): void {
    const position = this.#positions.get(key);
    if (position === undefined) {
      this.#nodes.push({ key, rank, sequence: this.#sequence++ });
      this.#positions.set(key, this.#nodes.length - 1);
      this.#siftUp(this.#nodes.length - 1);
      return;
    }
    this.#at(position).rank = rank;
    this.#siftDown(this.#siftUp(position));
  }

  pop(): Key | undefined {
    const first = this.#nodes[0];
    if (first === undefined) return undefined;
    this.delete(first.key);
    return first.key;
  }

  /** Returns whether the key existed. */
  delete(key: Key): boolean {
    const position = this.#positions.get(key);
    if (position === undefined) return false;
    const last = this.#nodes.length - 1;
    this.#swap(position, last);
    this.#nodes.pop();
    this.#positions.delete(key);
    if (position < last) this.#siftDown(this.#siftUp(position));
    return true;
  }

  clear(): void {
    this.#nodes.length = 0;
    this.#positions.clear();
  }

  #at(position: number): Node<Key> {
    const node = this.#nodes[position];
    if (node === undefined) throw new RangeError(`The heap has no position ${position}.`);
    return node;
  }

  #isBefore(left: number, right: number): boolean {
    const a = this.#at(left);
    const b = this.#at(right);
    return a.rank === b.rank ? a.sequence < b.sequence : a.rank < b.rank;
  }

  #swap(left: number, right: number): void {
    const a = this.#at(left);
    const b = this.#at(right);
    this.#nodes[left] = b;
    this.#nodes[right] = a;
    this.#positions.set(b.key, left);
    this.#positions.set(a.key, right);
  }

  #siftUp(start: number): number {
    let position = start;
    while (position > 0) {
      const parent = (position - 1) >> 1;
      if (!this.#isBefore(position, parent)) break;
      this.#swap(position, parent);
      position = parent;
    }
    return position;
  }

  #siftDown(start: number): number {
    let position = start;
    for (;;) {
      const left = position * 2 + 1;
      const right = left + 1;
      if (left >= this.#nodes.length) return position;
      const child = right < this.#nodes.length && this.#isBefore(right, left) ? right : left;
      if (!this.#isBefore(child, position)) return position;
      this.#swap(position, child);
      position = child;
    }
  }
}
