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
  /** The notes tell of it. */
  readonly isUnlisted?: boolean;
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** The positional argument, if there is one. */
  readonly argument?: string;
  /** It takes one of them or more. */
  readonly takesMany?: boolean;
  /** What may stand after the name, each a command of its own with both names. */
  readonly subcommands?: readonly Command[];
  readonly options: { readonly [name: string]: Option };
  /** Paragraphs below the options. */
  readonly notes?: readonly string[];
  readonly examples?: readonly string[];
}

export interface ParsedCommand {
  /** The one that was meant: of a command that has others, one of those. */
  readonly command: Command;
  readonly argument: string | undefined;
  readonly arguments: readonly string[];
  readonly options: { readonly [name: string]: string | boolean | undefined };
}

const HELP: Option = { about: "show this" };

export function parseCommand(command: Command, argv: readonly string[]): ParsedCommand {
  const [word, ...rest] = argv;
  if (command.subcommands === undefined) return parseOptions(command, argv);
  if (word === "--help" || word === "-h")
    return { command, argument: undefined, arguments: [], options: { help: true } };
  return parseOptions(findSubcommand(command, word), rest);
}

export function findSubcommand(command: Command, word: string | undefined): Command {
  const { name, subcommands = [] } = command;
  const found = subcommands.find((one) => one.name === `${name} ${word ?? ""}`);
  if (found !== undefined) return found;
  const known = subcommands.map((one) => one.name.slice(name.length + 1)).join(", ");
  const what =
    word === undefined ? `\`loom ${name}\` needs to be told what to do` : `there is no \`loom ${name} ${word}\``;
  throw new CliError(what, `choose one of ${known}`);
}

function parseOptions(command: Command, argv: readonly string[]): ParsedCommand {
  const declared: { [name: string]: { type: "string" | "boolean"; short?: string } } = {
    help: { type: "boolean", short: "h" },
  };
  for (const [name, option] of Object.entries(command.options))
    declared[name] = { type: option.value === undefined ? "boolean" : "string" };
  const { values, positionals } = parseStrictly(command, argv, declared);
  for (const [name, value] of Object.entries(values))
    if (value === "") throw refuse(command, `\`--${name}\` needs a value`);
  const { argument, takesMany = false } = command;
  const allowed = argument === undefined ? 0 : takesMany ? Number.POSITIVE_INFINITY : 1;
  if (positionals.length > allowed) throw refuse(command, `\`${positionals[allowed]}\` is one argument too many`);
  if (takesMany && positionals.length === 0 && values["help"] !== true)
    throw refuse(command, `\`loom ${command.name}\` needs ${argument ?? ""}`);
  return { command, argument: positionals[0], arguments: positionals, options: values };
}

function parseStrictly(
  command: Command,
  argv: readonly string[],
  options: { [name: string]: { type: "string" | "boolean"; short?: string } },
) {
  try {
    return parseArgs({ args: joinNegatives(argv, options), options, allowPositionals: true, strict: true });
  } catch (error) {
    // Node says the same in its own words, some of them on three lines.
    const said = error instanceof Error ? error.message : "";
    const name = /'(?:-\w, )?(?<name>--?[^' ]+)/.exec(said)?.groups?.["name"];
    if (name === undefined) throw error;
    if (said.startsWith("Unknown option")) throw refuse(command, `there is no option \`${name}\``);
    throw refuse(command, `\`${name}\` ${said.includes("does not take") ? "takes no value" : "needs a value"}`);
  }
}

/** No option is a digit: what begins like a negative number is the value of the option before it, if a wrong one. */
function joinNegatives(argv: readonly string[], options: { readonly [name: string]: { type: string } }): string[] {
  const joined: string[] = [];
  for (const [index, word] of argv.entries()) {
    const before = joined.at(-1) ?? "";
    const isValue = /^-\d/.test(word) && before.startsWith("--") && !argv.slice(0, index).includes("--");
    if (isValue && options[before.slice(2)]?.type === "string") joined[joined.length - 1] = `${before}=${word}`;
    else joined.push(word);
  }
  return joined;
}

function refuse(command: Command, message: string): CliError {
  return new CliError(message, `\`loom ${command.name} --help\` lists what it takes`);
}

/** The usage text, in lines of at most `width` columns. */
export function usageOf(command: Command, width: number): string {
  const { subcommands, takesMany = false } = command;
  if (subcommands !== undefined) return groupUsage(command, subcommands, width);
  const argument = command.argument === undefined ? "" : takesMany ? ` ${command.argument}…` : ` [${command.argument}]`;
  const listed = Object.entries(command.options).filter(([, { isUnlisted = false }]) => !isUnlisted);
  const rows = [...listed, ["help", HELP] as const].map(([name, { value, about }]) => ({
    name: `--${name}${value === undefined ? "" : ` ${value}`}`,
    about,
  }));
  const parts = [
    wrapText(command.summary, width, ""),
    wrapText(`Usage: loom ${command.name} [OPTIONS]${argument}`, width, "  "),
    listRows(rows, width),
    ...(command.notes ?? []).map((note) => wrapText(note, width, "")),
    ...(command.examples === undefined ? [] : [`Examples:\n${command.examples.map((line) => `  ${line}`).join("\n")}`]),
  ];
  return `${parts.join("\n\n")}\n`;
}

function groupUsage({ name, summary, notes = [] }: Command, subcommands: readonly Command[], width: number): string {
  const rows = subcommands.map((one) => ({ name: one.name.slice(name.length + 1), about: one.summary }));
  const parts = [
    wrapText(summary, width, ""),
    `Usage: loom ${name} COMMAND [OPTIONS]`,
    listRows(rows, width),
    ...notes.map((note) => wrapText(note, width, "")),
    wrapText(`\`loom ${name} COMMAND --help\` tells more.`, width, ""),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** What a line about something needs at least; where names leave less, it goes below them. */
const LEAST_ABOUT = 24;

/** Two columns: names, and what each is about. */
export function listRows(rows: readonly { readonly name: string; readonly about: string }[], width: number): string {
  const left = Math.max(...rows.map(({ name }) => name.length));
  const isBelow = width - left - 4 < LEAST_ABOUT;
  const indent = " ".repeat(isBelow ? 6 : left + 4);
  return rows
    .map(({ name, about }) => {
      const start = isBelow ? `  ${name}\n${indent}` : `  ${name.padEnd(left)}  `;
      return start + wrapText(about, width - indent.length, indent);
    })
    .join("\n");
}

/** A text option, or undefined; never a switch by mistake. */
export function textOption({ options }: ParsedCommand, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}
