/** `loom check --schema`: prints the JSON Schema of a dialect or of one of its types. */
import { dialectSchemas, DIALECTS } from "../dialects/index.ts";
import { dialectSchema } from "../dialects/schemas.ts";
import { CliError, type ParsedCommand } from "./command.ts";
import { dialectOption } from "./dialect-option.ts";
import type { Terminal } from "./terminal.ts";

export async function printSchema(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  for (const name of ["frames", "json", "framing", "max-line"])
    if (parsed.options[name] !== undefined) throw new CliError(`\`--${name}\` does not apply to \`--schema\``);
  const dialect = dialectOption(parsed, "dialect") ?? DIALECTS.loom;
  if (dialect === "auto")
    throw new CliError("`--dialect auto` is not supported here: there is no stream to detect it from");
  const type = parsed.argument;
  if (type === undefined) {
    await terminal.write(`${JSON.stringify(dialectSchema(dialect), null, 2)}\n`);
    return 0;
  }
  const schemas = dialectSchemas(dialect);
  const schema = Object.hasOwn(schemas, type) ? schemas[type] : undefined;
  if (schema === undefined)
    throw new CliError(
      `the ${dialect.name} dialect has no type \`${type}\``,
      `available types: ${Object.keys(schemas).join(", ")}`,
    );
  await terminal.write(
    `${JSON.stringify({ $schema: "https://json-schema.org/draft/2020-12/schema", ...schema }, null, 2)}\n`,
  );
  return 0;
}
