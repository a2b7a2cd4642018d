/** Reads an option that names a dialect. */
import { type Dialect, DIALECT_NAMES, DIALECTS } from "../dialects/index.ts";
import { isDialectName } from "../dialects/dialect.ts";
import { CliError, type ParsedCommand, textOption } from "./command.ts";

export function dialectOption(parsed: ParsedCommand, option: string): Dialect | "auto" | undefined {
  const name = textOption(parsed, option);
  if (name === undefined || name === "auto") return name;
  if (!isDialectName(name))
    throw new CliError(`unknown dialect \`${name}\``, `choose one of ${DIALECT_NAMES.join(", ")}`);
  return DIALECTS[name];
}
