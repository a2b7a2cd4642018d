/**
 * Writes the code that reads a shape from a flat frame: checks it and takes it out, in one pass and in the declared order.
 * That is faster than going by the shape's form, and the same (`readForm`): what is not as such a frame mostly is, is left
 * to the form. Code takes room in a page, so it is written only for simple shapes that come in long rows.
 */
import type { Schema, Shape } from "../../src/protocol/schema.ts";

const quote = (text: string): string => JSON.stringify(text);

/** A row of the table of readers, for a frame that has the required fields and the `usual` ones, and no other. */
export function emitReader(tag: string, shape: Shape, usual: readonly string[]): string {
  const fields = Object.entries(shape.fields).filter(([name, field]) => field.required || usual.includes(name));
  const fits = fields.map(([name, field]) => fitText(field.schema, `${name}_`));
  // An object made whole is much cheaper than one that grows.
  const members = [`type: ${quote(tag)}`, ...fields.map(([name]) => `${name}: ${name}_`)];
  return [
    `  ${quote(tag)}: (value, fields) => {`,
    ...fields.map(([name]) => `    const ${name}_ = value[${quote(name)}];`),
    `    return ${[`fields === ${fields.length}`, ...fits].join(" && ")}`,
    `      ? { ${members.join(", ")} }`,
    `      : readByForm(${quote(tag)}, value, fields);`,
    "  },",
  ].join("\n");
}

/** The condition that a value fits a schema; one expression must be able to tell. */
function fitText(schema: Schema, variable: string): string {
  switch (schema.kind) {
    case "string":
    case "boolean":
      return `typeof ${variable} === "${schema.kind}"`;
    case "number":
    case "integer": {
      const whole = schema.kind === "integer" ? `Number.isInteger(${variable})` : `Number.isFinite(${variable})`;
      const low = schema.min === undefined ? "" : ` && ${variable} >= ${schema.min}`;
      const high = schema.max === undefined ? "" : ` && ${variable} <= ${schema.max}`;
      return `typeof ${variable} === "number" && ${whole}${low}${high}`;
    }
    case "enum":
    case "open-enum":
      return `(${schema.values.map((value) => `${variable} === ${quote(value)}`).join(" || ")})`;
    default:
      throw new Error(`a reader cannot tell a ${schema.kind} by one expression`);
  }
}
