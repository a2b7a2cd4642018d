/**
 * Returns a copy of `view` with the defined fields of `fields`, or `view` itself if nothing changes. Undefined fields
 * are ignored: optional fields of a view are left out, never undefined.
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

/** Creates a view from its defined fields. */
export function makeView<V extends object>(fields: { readonly [K in keyof V]: V[K] | undefined }): V {
  return withFields({} as V, fields);
}

/** Returns the reported duration, or the difference of the times, or undefined if neither is known. */
export function findDuration(
  reported: number | undefined,
  from: number | undefined,
  to: number | undefined,
): number | undefined {
  return reported ?? (from === undefined || to === undefined ? undefined : Math.max(0, to - from));
}
