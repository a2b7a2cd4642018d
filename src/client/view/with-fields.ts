/**
 * A copy of `view` with those of these fields that are defined; `view` itself where it has them all. What is optional in
 * the view is left out, never undefined.
 */
export function withFields<V extends object>(view: V, fields: { readonly [K in keyof V]?: V[K] | undefined }): V {
  let given: { [K in keyof V]?: V[K] | undefined } = fields;
  let isChanged = false;
  for (const key in fields) {
    const value = fields[key];
    if (value === undefined) given = {};
    else if (value !== view[key]) isChanged = true;
  }
  if (!isChanged) return view;
  if (given !== fields) for (const key in fields) if (fields[key] !== undefined) given[key] = fields[key];
  return { ...view, ...given };
}

/** The same for a view that does not exist yet. */
export function makeView<V extends object>(fields: { readonly [K in keyof V]: V[K] | undefined }): V {
  return withFields({} as V, fields);
}

/** How long something took: as it says itself, or as the times tell; undefined where nothing does. */
export function findDuration(
  said: number | undefined,
  from: number | undefined,
  to: number | undefined,
): number | undefined {
  return said ?? (from === undefined || to === undefined ? undefined : Math.max(0, to - from));
}
