/** Generates the string of a form; `src/protocol/form.ts` describes its syntax. */
import { toExportKey } from "../../src/protocol/form.ts";
import { type Field, type Fields, type Schema, type Shape, stringOrNumber } from "../../src/protocol/schema.ts";

/** Returns the fields that all shapes start with, in their most frequent form. */
export function emitBase(shapes: readonly Shape[]): string[] {
  const lists = shapes.map(({ fields }) => Object.keys(fields));
  const [first = []] = lists;
  const end = first.findIndex((name, at) => lists.some((list) => list[at] !== name));
  const shared = first.slice(0, end < 0 ? first.length : end);
  return shared.map((name) => mostFrequent(shapes.map(({ fields }) => emitField(name, fields[name] as Field))));
}

function mostFrequent(texts: readonly string[]): string {
  const count = (text: string) => texts.filter((other) => other === text).length;
  return texts.reduce((best, text) => (count(text) > count(best) ? text : best));
}

/** Returns the form of a shape, without fields that equal those in `base`. */
export function emitForm(
  shape: Shape & { readonly exportKey?: string },
  type = "",
  base: readonly string[] = [],
): string {
  const { exportKey } = shape;
  const key = exportKey === undefined ? "" : exportKey === toExportKey(type) ? ">" : `>${exportKey}`;
  const fields = Object.entries(shape.fields).map(([name, field]) => emitField(name, field));
  return `${shape.section}${key}#${fields.filter((field) => !base.includes(field)).join(" ")}`;
}

function emitFields(fields: Fields): string {
  return Object.entries(fields)
    .map(([name, field]) => emitField(name, field))
    .join(" ");
}

function emitField(name: string, field: Field): string {
  return `${word(name)}${field.required ? ":" : "?"}${emitSchema(field.schema)}`;
}

function emitSchema(schema: Schema): string {
  switch (schema.kind) {
    case "string":
    case "boolean":
    case "json":
    case "map":
      return schema.kind.charAt(0);
    case "number":
    case "integer": {
      const { kind, min = "", max = Infinity } = schema;
      const top = kind === "integer" ? Number.MAX_SAFE_INTEGER : Infinity;
      if (max > top) throw new Error("A form cannot express an integer above 2^53-1");
      return word(`${kind.charAt(0)}${min}${max === top ? "" : `,${max}`}`);
    }
    case "enum":
      return `=${emitTexts(schema.values)}`;
    case "open-enum":
      return `~${emitTexts(schema.values)}`;
    case "array":
      return `[${emitSchema(schema.items)}`;
    case "object":
      return `{${emitFields(schema.fields)}}`;
    case "nullable":
      return `!${emitSchema(schema.of)}`;
    case "union": {
      if (schema === stringOrNumber) return "x";
      const [first, second, ...rest] = schema.options;
      const isStructure = second?.kind === "object" || second?.kind === "array";
      if (first?.kind === "string" && isStructure && rest.length === 0) return `&${emitSchema(second)}`;
      const texts = schema.options.flatMap((option) => (option.kind === "enum" ? option.values : []));
      const [other, ...more] = schema.options.filter((option) => option.kind !== "enum");
      if (other?.kind !== "object" || more.length > 0)
        throw new Error("A form supports only unions of strings and one object, or of any string and one structure");
      return `/${emitTexts(texts)}${emitSchema(other)}`;
    }
  }
}

function emitTexts(values: readonly string[]): string {
  return word(values.join("|"));
}

/** Checks that the parser of forms reads the text as one word. */
function word(text: string): string {
  if (!/^[\w,|-]+$/.test(text)) throw new Error(`A form cannot express ${JSON.stringify(text)}`);
  return text;
}
