/**
 * What was made of an object, kept for as long as that object is: what scrolls out of sight and back need not be made
 * again. Objects of the view never change.
 */
export function remember<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known.value;
    const value = make(key);
    made.set(key, { value });
    return value;
  };
}
