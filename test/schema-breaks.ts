/**
 * Finds breaking changes between two versions of a schema: removed types, fields or values, changed types, and fields
 * that became required or optional. New types, optional fields and values are allowed.
 */
interface SchemaNode {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: { readonly [name: string]: SchemaNode };
  readonly required?: readonly string[];
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly $defs?: { readonly [name: string]: SchemaNode };
}

export function findBreaks(before: SchemaNode, after: SchemaNode, path = ""): string[] {
  const at = path === "" ? "schema" : path;
  const breaks: string[] = [];
  for (const name of Object.keys(before.$defs ?? {})) {
    const now = after.$defs?.[name];
    if (now === undefined) breaks.push(`type ${name} was removed`);
    else breaks.push(...findBreaks(before.$defs?.[name] ?? {}, now, name));
  }
  if (JSON.stringify(before.type) !== JSON.stringify(after.type))
    breaks.push(`${at}: type was ${JSON.stringify(before.type)}, is ${JSON.stringify(after.type)}`);
  if (JSON.stringify(before.const) !== JSON.stringify(after.const))
    breaks.push(`${at}: was ${JSON.stringify(before.const)}, is ${JSON.stringify(after.const)}`);
  if (before.enum === undefined && after.enum !== undefined) breaks.push(`${at}: values are now restricted`);
  for (const value of before.enum ?? []) {
    if (after.enum !== undefined && !after.enum.includes(value))
      breaks.push(`${at}: ${JSON.stringify(value)} is no longer allowed`);
  }
  if ((after.minimum ?? Number.NEGATIVE_INFINITY) > (before.minimum ?? Number.NEGATIVE_INFINITY))
    breaks.push(`${at}: minimum was raised`);
  if ((after.maximum ?? Number.POSITIVE_INFINITY) < (before.maximum ?? Number.POSITIVE_INFINITY))
    breaks.push(`${at}: maximum was lowered`);
  for (const [name, field] of Object.entries(before.properties ?? {})) {
    const inner = path === "" ? name : `${path}.${name}`;
    const now = after.properties?.[name];
    if (now === undefined) breaks.push(`${inner} was removed`);
    else breaks.push(...findBreaks(field, now, inner));
    const was = before.required?.includes(name) === true;
    const is = after.required?.includes(name) === true;
    if (was !== is) breaks.push(`${inner}: was ${was ? "required" : "optional"}, is ${is ? "required" : "optional"}`);
  }
  for (const name of after.required ?? []) {
    if (before.properties !== undefined && before.properties[name] === undefined)
      breaks.push(`${at}: ${name} is new and required`);
  }
  if (before.items !== undefined) breaks.push(...findBreaks(before.items, after.items ?? {}, `${path}[]`));
  // Only the alternatives of a value: the list of a dialect's types may grow.
  if (before.$defs === undefined && JSON.stringify(before.anyOf) !== JSON.stringify(after.anyOf))
    breaks.push(`${at}: alternatives have changed`);
  return breaks;
}
