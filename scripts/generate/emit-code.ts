/**
 * Turns declared shapes into TypeScript: an interface and a form per shape, the function that checks a value against its
 * form, and code that reads the types that come most. No eval at run time, no schema library in a page.
 */
import type { Field, Schema, Shape } from "../../src/protocol/schema.ts";
import { emitBase, emitForm } from "./emit-form.ts";
import { emitReader } from "./emit-readers.ts";

export interface CodeRequest {
  /** Names the union type and the functions: "LoomEvent" gives `findLoomEventFault`. */
  readonly union: string;
  readonly shapes: { readonly [tag: string]: Shape };
  /** Shapes without a tag, exported as an interface of this name. */
  readonly untagged?: { readonly [name: string]: Shape };
  /** Appended to each interface name, so that two vocabularies do not clash. */
  readonly suffix: string;
  readonly protocolPath: string;
  readonly readers?: Readers;
}

/** Types for which code is written that reads them from a flat frame, and the optional fields such a frame mostly has. */
export interface Readers {
  readonly [type: string]: readonly string[];
}

export function emitCode(request: CodeRequest): string {
  const { union, suffix, shapes } = request;
  const tags = Object.keys(shapes);
  const untagged = Object.entries(request.untagged ?? {});
  const interfaces = [
    ...Object.entries(shapes).map(([tag, shape]) => emitInterface(pascalCase(tag) + suffix, shape, tag)),
    ...untagged.map(([name, shape]) => emitInterface(name, shape)),
  ];
  const names = tags.map((tag) => pascalCase(tag) + suffix);
  const forms = `${constantCase(union)}_FORMS`;
  const base = emitBase(Object.values(shapes));
  const finder = base.length === 0 ? forms : `${forms}, ${quote(base.join(" "))}`;
  const rows = Object.entries(shapes).map(([tag, shape]) => `  ${quote(tag)}: ${quote(emitForm(shape, tag, base))},`);
  const code = [
    interfaces.join("\n\n"),
    `/** One of all the above, told apart by \`type\`. */\nexport type ${union} =\n${names.map((n) => `  | ${n}`).join("\n")};`,
    `/** From the type to its interface. */\nexport interface ${union}Map {\n${tags.map((t) => `  readonly ${quote(t)}: ${pascalCase(t)}${suffix};`).join("\n")}\n}`,
    `/** From the type to its form, as a text. */\nexport const ${forms} = {\n${rows.join("\n")}\n};`,
    `export const find${union}Form: (type: unknown) => Form | undefined = /* @__PURE__ */ createFormFinder(${finder});`,
    ...untagged.map(([name, shape]) => emitUntagged(name, shape)),
    `/** Checks the fields of a value whose \`type\` is known; undefined when they fit, and when the type is none of these. */
export function find${union}Fault(given: object, hints?: Hint[]): Fault | undefined {
  const value = given as Value;
  const form = find${union}Form(value["type"]);
  return form === undefined ? undefined : findFault(form.fields, value, hints);
}`,
    ...(request.readers === undefined ? [] : [emitReaders(request, request.readers)]),
  ].join("\n\n");
  return `${header(request.protocolPath, code)}\n${code}\n`;
}

function emitUntagged(name: string, shape: Shape): string {
  const form = `${constantCase(name)}_FORM`;
  return `export const ${form}: Form = /* @__PURE__ */ parseForm(${quote(emitForm(shape))});

export function find${name}Fault(value: Value): Fault | undefined {
  return findFault(${form}.fields, value);
}`;
}

/** Code that reads the given shapes from a flat frame; the others are read by their forms. */
function emitReaders({ union, shapes }: CodeRequest, types: Readers): string {
  const rows = Object.entries(types).map(([type, usual]) => {
    const shape = shapes[type];
    if (shape === undefined) throw new Error(`there is no ${type} to write a reader for`);
    return emitReader(type, shape, usual);
  });
  return `/** Reads an event from a flat frame that has so many fields beside its type and its envelope. */
function readByForm(type: string, value: Value, fields: number): object | undefined {
  return readForm(type, find${union}Form(type) as Form, value, fields);
}

/** Types that come in long rows: as they mostly come, they are read by code of their own, the others by their forms. */
export const ${constantCase(union)}_READERS: {
  readonly [type: string]: (value: Value, fields: number) => object | undefined;
} = {\n${rows.join("\n")}\n};`;
}

function header(protocolPath: string, code: string): string {
  const used = (name: string) => new RegExp(`\\b${name}\\b`).test(code);
  const forms = ["createFormFinder", "parseForm"].filter(used);
  const json = ["Json", "JsonObject"].filter(used);
  const checks = ["findFault", "readForm"].filter(used);
  const lines = [
    "/**",
    " * Generated from the declarations by `npm run generate`; edit those instead.",
    " * The types of the vocabulary, and the forms a value is checked against.",
    " */",
    `import { ${checks.join(", ")} } from "${protocolPath}/check-form.ts";`,
    `import type { Fault, Hint } from "${protocolPath}/fault.ts";`,
    `import { ${[...forms, "type Form"].join(", ")} } from "${protocolPath}/form.ts";`,
  ];
  if (json.length > 0) lines.push(`import type { ${json.join(", ")} } from "${protocolPath}/json.ts";`);
  lines.push("", "type Value = { readonly [field: string]: unknown };", "");
  return lines.join("\n");
}

function constantCase(name: string): string {
  return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}

function pascalCase(name: string): string {
  return name
    .split(/[_-]/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("");
}

const quote = (text: string): string => JSON.stringify(text);

export function emitInterface(name: string, shape: Shape, tag?: string): string {
  const tagLine = tag === undefined ? [] : [`  readonly type: ${quote(tag)};`];
  const fields = Object.entries(shape.fields).flatMap(([field, declared]) => [
    `  /** ${declared.about.en} */`,
    `  readonly ${emitMember(field, declared)};`,
  ]);
  return [
    `/** ${shape.about.en} (${shape.section}). */`,
    `export interface ${name} {`,
    ...tagLine,
    ...fields,
    "}",
  ].join("\n");
}

function emitMember(name: string, field: Field): string {
  const key = /^[a-z_]\w*$/i.test(name) ? name : quote(name);
  return field.required ? `${key}: ${emitType(field.schema)}` : `${key}?: ${emitType(field.schema)}`;
}

function emitType(schema: Schema): string {
  switch (schema.kind) {
    case "string":
      return "string";
    case "number":
    case "integer":
      return "number";
    case "boolean":
      return "boolean";
    case "json":
      return "Json";
    case "map":
      return "JsonObject";
    case "enum":
      return schema.values.map(quote).join(" | ");
    case "open-enum":
      return `${schema.values.map(quote).join(" | ")} | (string & {})`;
    case "array": {
      const items = emitType(schema.items);
      return `readonly ${/[|&]/.test(items) ? `(${items})` : items.startsWith("readonly") ? `(${items})` : items}[]`;
    }
    case "object":
      return `{ ${Object.entries(schema.fields)
        .map(([name, field]) => `readonly ${emitMember(name, field)}`)
        .join("; ")} }`;
    case "union":
      return schema.options.map(emitType).join(" | ");
    case "nullable":
      return `${emitType(schema.of)} | null`;
  }
}
