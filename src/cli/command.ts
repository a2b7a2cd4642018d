/** How a command is declared, its arguments are read, and its usage is told. */
import { parseArgs } from "node:util";
import { wrapText } from "./fit-text.ts";

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
  /** Paragraphs below the options. */
  readonly notes?: readonly string[];
  readonly examples?: readonly string[];
}

export interface ParsedCommand {
  readonly command: Command;
  readonly argument: string | undefined;
  readonly options: { readonly [name: string]: string | boolean | undefined };
}

const HELP: Option = { about: "show this" };

export function parseCommand(command: Command, argv: readonly string[]): ParsedCommand {
  const declared: { [name: string]: { type: "string" | "boolean"; short?: string } } = {
    help: { type: "boolean", short: "h" },
  };
  for (const [name, option] of Object.entries(command.options))
    declared[name] = { type: option.value === undefined ? "boolean" : "string" };
  const { values, positionals } = parseStrictly(command, argv, declared);
  for (const [name, value] of Object.entries(values))
    if (value === "") throw refuse(command, `\`--${name}\` needs a value`);
  const allowed = command.argument === undefined ? 0 : 1;
  if (positionals.length > allowed) throw refuse(command, `\`${positionals[allowed]}\` is one argument too many`);
  return { command, argument: positionals[0], options: values };
}

function parseStrictly(
  command: Command,
  argv: readonly string[],
  options: { [name: string]: { type: "string" | "boolean"; short?: string } },
) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
  } catch (error) {
    // Node says the same in its own words, some of them on three lines.
    const said = error instanceof Error ? error.message : "";
    const name = /'(?:-\w, )?(?<name>--?[^' ]+)/.exec(said)?.groups?.["name"];
    if (name === undefined) throw error;
    if (said.startsWith("Unknown option")) throw refuse(command, `there is no option \`${name}\``);
    throw refuse(command, `\`${name}\` ${said.includes("does not take") ? "takes no value" : "needs a value"}`);
  }
}

function refuse(command: Command, message: string): CliError {
  return new CliError(message, `\`loom ${command.name} --help\` lists what it takes`);
}

/** The usage text, in lines of at most `width` columns. */
export function usageOf(command: Command, width: number): string {
  const argument = command.argument === undefined ? "" : ` [${command.argument}]`;
  const rows = [...Object.entries(command.options), ["help", HELP] as const].map(([name, { value, about }]) => ({
    name: `--${name}${value === undefined ? "" : ` ${value}`}`,
    about,
  }));
  const parts = [
    command.summary,
    `Usage: loom ${command.name} [OPTIONS]${argument}`,
    listRows(rows, width),
    ...(command.notes ?? []).map((note) => wrapText(note, width, "")),
    ...(command.examples === undefined ? [] : [`Examples:\n${command.examples.map((line) => `  ${line}`).join("\n")}`]),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** Two columns: names, and what each is about. */
export function listRows(rows: readonly { readonly name: string; readonly about: string }[], width: number): string {
  const left = Math.max(...rows.map(({ name }) => name.length));
  const indent = " ".repeat(left + 4);
  return rows
    .map(({ name, about }) => `  ${name.padEnd(left)}  ${wrapText(about, width - indent.length, indent)}`)
    .join("\n");
}

/** A text option, or undefined; never a switch by mistake. */
export function textOption({ options }: ParsedCommand, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}
