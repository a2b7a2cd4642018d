/** Declares commands, parses their arguments and builds their help text. */
import { parseArgs } from "node:util";
import { findNearest } from "../protocol/find-nearest.ts";
import { cleanText, wrapText } from "./fit-text.ts";

/** An error the user can fix. It is printed without a stack trace, and the exit code is 2. */
export class CliError extends Error {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

export interface CliOption {
  /** Placeholder of the value in the help text; absent for a switch. */
  readonly value?: string;
  readonly about: string;
  /** Accepted values, for completion and for commands that check them. */
  readonly choices?: readonly string[];
  /** The letter of its short form. */
  readonly short?: string;
  /** The default of a switch that also has the form `--no-NAME`. */
  readonly defaultsTo?: boolean;
}

interface HelpRow {
  readonly name: string;
  readonly about: string;
}

export interface CliCommand {
  readonly name: string;
  readonly summary: string;
  /** Name of the positional argument. */
  readonly argument?: string;
  /** Takes one or more positional arguments. */
  readonly takesMany?: boolean;
  /** The positional argument must be given. */
  readonly needsArgument?: boolean;
  /** Accepted positional arguments, for completion. */
  readonly argumentChoices?: readonly string[];
  /** Subcommands, each named with its parent: `kb add`. */
  readonly subcommands?: readonly CliCommand[];
  readonly options: { readonly [name: string]: CliOption };
  /** A hint for an option that the command does not have. */
  readonly explainOption?: (name: string) => string | undefined;
  /** A list below the options. */
  readonly table?: { readonly title: string; readonly rows: readonly HelpRow[] };
  /** Paragraphs below the options. */
  readonly notes?: readonly string[];
  readonly examples?: readonly string[];
}

export interface ParsedCommand {
  /** The command to run: a subcommand if the command has any. */
  readonly command: CliCommand;
  readonly argument: string | undefined;
  readonly arguments: readonly string[];
  readonly options: { readonly [name: string]: string | boolean | undefined };
}

const HELP_OPTION: CliOption = { about: "show this help", short: "h" };

export function parseCommand(command: CliCommand, argv: readonly string[]): ParsedCommand {
  const [word, ...rest] = argv;
  if (command.subcommands === undefined) return parseOptions(command, argv);
  if (word === "--help" || word === "-h")
    return { command, argument: undefined, arguments: [], options: { help: true } };
  return parseOptions(findSubcommand(command, word), rest);
}

export function findSubcommand(command: CliCommand, word: string | undefined): CliCommand {
  const { name, subcommands = [] } = command;
  const found = subcommands.find((one) => one.name === `${name} ${word ?? ""}`);
  if (found !== undefined) return found;
  const known = subcommands.map((one) => one.name.slice(name.length + 1));
  const choose = `choose one of ${known.join(", ")}`;
  if (word === undefined) throw new CliError(`\`loom ${name}\` needs a command`, choose);
  const nearest = findNearest(word, known);
  const hint = nearest === undefined ? choose : `did you mean \`loom ${name} ${nearest}\`?`;
  throw new CliError(`unknown command \`loom ${name} ${word}\``, hint);
}

function parseOptions(command: CliCommand, argv: readonly string[]): ParsedCommand {
  const declared: DeclaredOptions = { help: { type: "boolean", short: "h" } };
  for (const [name, { value, short, defaultsTo }] of Object.entries(command.options)) {
    const letter = short === undefined ? {} : { short };
    declared[name] = { type: value === undefined ? "boolean" : "string", multiple: value === "LIST", ...letter };
    if (defaultsTo !== undefined) declared[`no-${name}`] = { type: "boolean" };
  }
  const { values: given, positionals } = parseStrictly(command, argv, declared);
  const values: { [name: string]: string | boolean | undefined } = {};
  for (const [form, value] of Object.entries(given)) {
    const isOff = form.startsWith("no-") && !Object.hasOwn(command.options, form);
    const name = isOff ? form.slice(3) : form;
    if (Object.hasOwn(values, name)) throw new CliError(`--${name} and --no-${name} cannot be used together`);
    // A list may be given in parts.
    values[name] = isOff ? false : Array.isArray(value) ? value.join(",") : value;
    if (values[name] === "") throw usageError(command, `\`--${name}\` needs a value`);
  }
  const { argument, takesMany = false, needsArgument = takesMany } = command;
  const allowed = argument === undefined ? 0 : takesMany ? Number.POSITIVE_INFINITY : 1;
  if (positionals.length > allowed) {
    const message = `unexpected argument \`${positionals[allowed]}\``;
    if (argument === "MESSAGE") throw new CliError(message, "put the message in quotes");
    throw usageError(command, message);
  }
  if (needsArgument && positionals.length === 0 && values["help"] !== true)
    throw usageError(command, `\`loom ${command.name}\` needs ${argument ?? ""}`);
  return { command, argument: positionals[0], arguments: positionals, options: values };
}

interface DeclaredOptions {
  [name: string]: { type: "string" | "boolean"; short?: string; multiple?: boolean };
}

function parseStrictly(command: CliCommand, argv: readonly string[], options: DeclaredOptions) {
  try {
    return parseArgs({ args: joinNegatives(argv, options), options, allowPositionals: true, strict: true });
  } catch (error) {
    // Node's own messages span several lines and suggest `--`.
    const message = error instanceof Error ? error.message : "";
    const name = /'(?:-\w, )?(?<name>--?[^' ]+)/.exec(message)?.groups?.["name"];
    if (name === undefined) throw error;
    if (message.startsWith("Unknown option")) {
      const explained = command.explainOption?.(name);
      if (explained !== undefined) throw new CliError(`unknown option \`${name}\``, explained);
      const nearest = name.startsWith("--") ? findNearest(name, Object.keys(options)) : undefined;
      if (nearest === undefined) throw usageError(command, `unknown option \`${name}\``);
      throw new CliError(`unknown option \`${name}\``, `did you mean \`--${nearest}\`?`);
    }
    throw usageError(
      command,
      `\`${name}\` ${message.includes("does not take") ? "does not take a value" : "needs a value"}`,
    );
  }
}

/**
 * Joins an option and a value such as `-1`, which Node would parse as an option. The command then rejects the value
 * with a clear message.
 */
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

function usageError(command: CliCommand, message: string): CliError {
  return new CliError(message, `run \`loom ${command.name} --help\` for usage`);
}

/** Returns the help text, wrapped to `width` columns. */
export function usageOf(command: CliCommand, width: number): string {
  const { subcommands, table } = command;
  if (subcommands !== undefined) return groupUsage(command, subcommands, width);
  const argument = describeArgument(command);
  const rows = [...Object.entries(command.options), ["help", HELP_OPTION] as const].map(([name, option]) => ({
    name: describeOption(name, option),
    about: option.about,
  }));
  const parts = [
    wrapText(command.summary, width, ""),
    wrapText(`Usage: loom ${command.name} [OPTIONS]${argument}`, width, "  "),
    listRows(rows, width),
    ...(table === undefined ? [] : [`${wrapText(table.title, width, "")}\n${listRows(table.rows, width)}`]),
    ...(command.notes ?? []).map((note) => wrapText(note, width, "")),
    ...(command.examples === undefined ? [] : [listExamples(command.examples)]),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** A switch that is on by default is listed with the form that turns it off. */
function describeOption(name: string, { value, short, defaultsTo }: CliOption): string {
  const letter = short === undefined ? "" : `-${short}, `;
  return `${letter}--${defaultsTo === true ? "no-" : ""}${name}${value === undefined ? "" : ` ${value}`}`;
}

function describeArgument({ argument, takesMany = false, needsArgument = takesMany }: CliCommand): string {
  if (argument === undefined) return "";
  const word = `${argument}${takesMany ? "…" : ""}`;
  return needsArgument ? ` ${word}` : ` [${word}]`;
}

function groupUsage(
  { name, summary, notes = [] }: CliCommand,
  subcommands: readonly CliCommand[],
  width: number,
): string {
  const rows = subcommands.map((one) => ({ name: one.name.slice(name.length + 1), about: one.summary }));
  const parts = [
    wrapText(summary, width, ""),
    `Usage: loom ${name} COMMAND [OPTIONS]`,
    listRows(rows, width),
    ...notes.map((note) => wrapText(note, width, "")),
    listExamples(subcommands.flatMap(({ examples = [] }) => examples.slice(0, 1))),
    wrapText(`Run \`loom ${name} COMMAND --help\` for details.`, width, ""),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** Examples are not wrapped, so that they can be copied. */
function listExamples(examples: readonly string[]): string {
  return `Examples:\n${examples.map((line) => `  ${line}`).join("\n")}`;
}

/** Minimum width of the descriptions; in a narrower window they go below the names. */
const MIN_ABOUT_COLUMNS = 24;

/** Formats names and descriptions in two columns. */
export function listRows(rows: readonly HelpRow[], width: number): string {
  const left = Math.max(...rows.map(({ name }) => name.length));
  const isBelow = width - left - 4 < MIN_ABOUT_COLUMNS;
  const indent = " ".repeat(isBelow ? 6 : left + 4);
  return rows
    .map(({ name, about }) => {
      const start = isBelow ? `  ${name}\n${indent}` : `  ${name.padEnd(left)}  `;
      return start + wrapText(about, width - indent.length, indent);
    })
    .join("\n");
}

/** Returns a text option, or undefined if it is absent. */
export function textOption({ options }: ParsedCommand, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value : undefined;
}

/** Quotes an option and its value for a shell. A value that starts with `-` needs `=`. */
export function quoteOption(name: string, value: string): string {
  return `--${name}${value.startsWith("-") ? "=" : " "}${quoteWord(value)}`;
}

/** Quotes those of the named options that were given, to repeat them in another command. */
export function quoteGiven({ options }: ParsedCommand, names: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    const value = options[name];
    if (value === undefined) return [];
    return typeof value === "string" ? [quoteOption(name, value)] : [`--${value ? "" : "no-"}${name}`];
  });
}

/** Quotes a word for a shell. Characters that `cleanText` replaces are escaped, so that the command can be shown and copied. */
export function quoteWord(value: string): string {
  if (/^[\w@%+:,./-]+$/.test(value)) return value;
  if (cleanText(value) === value) return `'${value.replaceAll("'", `'\\''`)}'`;
  const escape = (text: string): string => Buffer.from(text).toString("hex").replaceAll(/../g, "\\x$&");
  const characters = Array.from(value.replaceAll(/[\\']/g, "\\$&").replaceAll("\n", "\\n"));
  return `$'${characters.map((text) => (cleanText(text) === text ? text : escape(text))).join("")}'`;
}
