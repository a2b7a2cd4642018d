/** How a command is declared and its arguments are read. */
import { parseArgs } from "node:util";

/** A mistake of the user's, or a world that does not answer: shown without a stack, exit code 2. */
export class CliError extends Error {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

export interface Option {
  /** What stands for the value in the usage text; absent for a switch. */
  readonly value?: string;
  readonly about: string;
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** The positional argument, if there is one. */
  readonly argument?: string;
  readonly options: { readonly [name: string]: Option };
  readonly notes?: string;
}

export interface ParsedCommand {
  readonly argument: string | undefined;
  readonly options: { readonly [name: string]: string | boolean | undefined };
}

const HELP: Option = { about: "show this" };

export function parseCommand(command: Command, argv: readonly string[]): ParsedCommand {
  const options: { [name: string]: { type: "string" | "boolean"; short?: string } } = {
    help: { type: "boolean", short: "h" },
  };
  for (const [name, option] of Object.entries(command.options))
    options[name] = { type: option.value === undefined ? "boolean" : "string" };
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
    const allowed = command.argument === undefined ? 0 : 1;
    if (positionals.length > allowed)
      throw new CliError(`\`${positionals[allowed]}\` is one argument too many`, seeHelp(command));
    return { argument: positionals[0], options: values };
  } catch (error) {
    if (error instanceof CliError) throw error;
    const message = error instanceof Error ? (error.message.split(". ")[0] ?? error.message) : String(error);
    throw new CliError(message.charAt(0).toLowerCase() + message.slice(1), seeHelp(command));
  }
}

function seeHelp(command: Command): string {
  return `\`loom ${command.name} --help\` lists what it takes`;
}

export function usageOf(command: Command): string {
  const all: [string, Option][] = [...Object.entries(command.options), ["help", HELP]];
  const rows = all.map(([name, option]): [string, string] => [
    `--${name}${option.value === undefined ? "" : ` ${option.value}`}`,
    option.about,
  ]);
  const width = Math.max(...rows.map(([left]) => left.length));
  const argument = command.argument === undefined ? "" : ` [${command.argument}]`;
  const notes = command.notes === undefined ? "" : `\n${command.notes}\n`;
  return `${command.summary}\n\nUsage: loom ${command.name} [OPTIONS]${argument}\n\n${rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n")}\n${notes}`;
}

/** A text option, or undefined; never a switch by mistake. */
export function textOption({ options }: ParsedCommand, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}
