/**
 * What changed between two versions of a schema that would break somebody: a type or field gone, another type, a value
 * no longer allowed, a field that became required or stopped being so. New types, fields and values are fine.
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
  const at = path === "" ? "the schema" : path;
  const breaks: string[] = [];
  for (const name of Object.keys(before.$defs ?? {})) {
    const now = after.$defs?.[name];
    if (now === undefined) breaks.push(`type ${name} is gone`);
    else breaks.push(...findBreaks(before.$defs?.[name] ?? {}, now, name));
  }
  if (JSON.stringify(before.type) !== JSON.stringify(after.type))
    breaks.push(`${at}: type was ${JSON.stringify(before.type)}, is ${JSON.stringify(after.type)}`);
  if (JSON.stringify(before.const) !== JSON.stringify(after.const))
    breaks.push(`${at}: was ${JSON.stringify(before.const)}, is ${JSON.stringify(after.const)}`);
  if (before.enum === undefined && after.enum !== undefined) breaks.push(`${at}: any value was allowed`);
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
    if (now === undefined) breaks.push(`${inner} is gone`);
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
  // Alternatives of a value, not the list of a dialect's types, which may grow.
  if (before.$defs === undefined && JSON.stringify(before.anyOf) !== JSON.stringify(after.anyOf))
    breaks.push(`${at}: other alternatives`);
  return breaks;
}
