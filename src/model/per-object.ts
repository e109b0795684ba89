/** The same function with a memory: it computes the value of an object once, and forgets it with the object. */
export function perObject<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { readonly value: Value }>();
  return (key) => {
    const result = known.get(key) ?? { value: compute(key) };
    known.set(key, result);
    return result.value;
  };
}
