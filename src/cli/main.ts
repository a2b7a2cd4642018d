/**
 * The command line: finds and runs the command, and turns its errors into a message and an exit code.
 *
 * Exit codes: 0 success, 1 invalid input or a failed run, 2 the command could not run, 130 stopped by a signal, 141
 * standard output was closed (as for SIGPIPE). `loom run` has further ones.
 */
import {
  CliError,
  type CliCommand,
  findSubcommand,
  listRows,
  type ParsedCommand,
  parseCommand,
  usageOf,
} from "./command.ts";
import { CHAT } from "./chat/chat-command.ts";
import { COMPLETION, runCompletion } from "./completion.ts";
import { CHECK, CONVERT, DOCTOR, INIT, MODELS, RUN } from "./commands.ts";
import { KB } from "./kb/kb-commands.ts";
import { APPROVE, CANCEL, INGEST, SESSIONS, SESSIONS_RUNS, SHOW } from "./sessions/session-commands.ts";
import { SERVE } from "./serve/serve-command.ts";
import { STORE } from "./store/store-commands.ts";
import { TOKEN } from "./token/token-commands.ts";
import { cleanText, wrapText } from "./fit-text.ts";
import { findNearest } from "../protocol/find-nearest.ts";
import { readPackageVersion } from "../server/read-package-version.ts";
import { createTerminal, OUTPUT_CLOSED, OutputClosed, type Terminal } from "./terminal.ts";

interface ListedCommand {
  readonly command: CliCommand;
  readonly run: (parsed: ParsedCommand, terminal: Terminal) => Promise<number>;
}

/** Each command loads on demand what it needs. */
function list(command: CliCommand, load: (parsed: ParsedCommand) => Promise<ListedCommand["run"]>): ListedCommand {
  return { command, run: async (parsed, terminal) => (await load(parsed))(parsed, terminal) };
}

async function loadSessions({ command }: ParsedCommand): Promise<ListedCommand["run"]> {
  if (command === SESSIONS_RUNS) return (await import("./sessions/run-control.ts")).runControl;
  return (await import("./sessions/run-sessions.ts")).runSessions;
}

export const COMMANDS: readonly ListedCommand[] = [
  list(RUN, async () => (await import("./run-agent.ts")).runAgent),
  list(CHAT, async () => (await import("./chat/run-chat.ts")).runChat),
  list(SERVE, async () => (await import("./serve/serve.ts")).serve),
  list(SHOW, async () => (await import("./sessions/run-show.ts")).runShow),
  list(SESSIONS, loadSessions),
  list(INGEST, async () => (await import("./sessions/run-ingest.ts")).runIngest),
  list(CANCEL, async () => (await import("./sessions/run-control.ts")).runControl),
  list(APPROVE, async () => (await import("./sessions/run-control.ts")).runControl),
  list(MODELS, async () => (await import("./models.ts")).runModels),
  list(KB, async () => (await import("./kb/run-knowledge-base.ts")).runKnowledgeBase),
  list(TOKEN, async () => (await import("./token/run-tokens.ts")).runTokens),
  list(STORE, async () => (await import("./store/run-store.ts")).runStore),
  list(DOCTOR, async () => (await import("./doctor/run-doctor.ts")).runDoctor),
  list(INIT, async () => (await import("./init/run-init.ts")).runInit),
  list(CONVERT, async () => (await import("./convert.ts")).runConvert),
  list(CHECK, async () => (await import("./check.ts")).runCheck),
  list(COMPLETION, async () => async (parsed, terminal) => {
    const commands = COMMANDS.map(({ command }) => command);
    return runCompletion(commands, parsed, terminal);
  }),
];

/** Commands of earlier versions, and what does the same now. */
const REPLACED: { readonly [name: string]: string } = {
  backup: "store backup",
  owner: "sessions delete --owner NAME",
  replay: "show SESSION",
  restore: "store restore",
  runs: "sessions runs",
  schema: "check --schema",
  tail: "show SESSION --follow",
  verify: "store verify",
};

/** Longer lines are hard to read. */
const WIDEST_HELP = 100;

export async function main(
  argv: readonly string[],
  { stdin, stdout, stderr }: Pick<NodeJS.Process, "stdin" | "stdout" | "stderr"> = process,
): Promise<number> {
  const terminal = createTerminal(stdin, stdout, stderr);
  try {
    return await runCommand(argv, terminal);
  } catch (error) {
    if (error instanceof OutputClosed) return OUTPUT_CLOSED;
    if (!(error instanceof CliError)) throw error;
    terminal.warn(describeError(error, terminal));
    return 2;
  }
}

async function runCommand([name, ...rest]: readonly string[], terminal: Terminal): Promise<number> {
  const width = Math.min(terminal.columns ?? 80, WIDEST_HELP);
  switch (name) {
    case undefined:
      terminal.warn(overview(width).trimEnd());
      return 2;
    case "--help":
    case "-h":
    case "help":
      await terminal.write(rest[0] === undefined ? overview(width) : usageOf(findHelp(rest[0], rest[1]), width));
      return 0;
    default: {
      const { command, run } = findCommand(name);
      const parsed = parseCommand(command, rest);
      if (parsed.options["help"] !== true) return run(parsed, terminal);
      await terminal.write(usageOf(parsed.command, width));
      return 0;
    }
  }
}

function findHelp(name: string, word: string | undefined): CliCommand {
  const { command } = findCommand(name);
  return command.subcommands === undefined || word === undefined ? command : findSubcommand(command, word);
}

function findCommand(name: string): ListedCommand {
  const found = COMMANDS.find(({ command }) => command.name === name);
  if (found !== undefined) return found;
  const list = "run `loom --help` for a list";
  if (name.startsWith("-")) {
    const option = name.startsWith("--") ? findNearest(name, ["version", "help"]) : undefined;
    throw new CliError(`unknown option \`${name}\``, option === undefined ? list : `did you mean \`--${option}\`?`);
  }
  const names = COMMANDS.map(({ command }) => command.name);
  const nearest = Object.hasOwn(REPLACED, name) ? REPLACED[name] : findNearest(name, names);
  throw new CliError(`unknown command \`${name}\``, nearest === undefined ? list : `did you mean \`loom ${nearest}\`?`);
}

function describeError({ message, hint }: CliError, terminal: Terminal): string {
  const width = (terminal.errorColumns ?? Number.POSITIVE_INFINITY) - 6;
  const lines = [message, ...(hint === undefined ? [] : [hint])].map((text) =>
    wrapText(cleanText(text), width, "      "),
  );
  return `${terminal.styleError(["red", "bold"], "loom:")} ${lines.join("\n      ")}`;
}

function overview(width: number): string {
  const rows = COMMANDS.map(({ command }) => ({ name: command.name, about: command.summary }));
  const title = wrapText(`loom ${readPackageVersion()}: run agents and stream their events`, width, "");
  const more = wrapText("Run `loom COMMAND --help` for details, `loom --version` for the version.", width, "");
  const codes = wrapText(
    "Exit codes: 0 success, 1 a negative result, such as a failed run or invalid input, 2 the command could not run, 130 stopped by a signal, 141 standard output closed. A command with other codes lists them.",
    width,
    "",
  );
  return `${title}

Usage: loom COMMAND [OPTIONS]

${listRows(rows, width)}

${more}

${codes}
`;
}
