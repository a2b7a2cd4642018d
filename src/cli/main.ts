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
import { BACKUP, RESTORE, VERIFY } from "./backup/backup-commands.ts";
import { DOCTOR } from "./doctor/doctor-command.ts";
import { INIT } from "./init/init-command.ts";
import { CHECK, CONVERT, DEMO, RUN, SCHEMA } from "./commands.ts";
import { KB } from "./kb/kb-commands.ts";
import { OWNER } from "./owner/owner-commands.ts";
import { APPROVE, CANCEL, RUNS } from "./sessions/run-commands.ts";
import { SESSIONS } from "./sessions/session-commands.ts";
import { INGEST, REPLAY, TAIL } from "./sessions/stream-commands.ts";
import { SERVE } from "./serve/serve-command.ts";
import { STORE } from "./store/store-commands.ts";
import { TOKEN } from "./token/token-commands.ts";
import { cleanText, wrapText } from "./fit-text.ts";
import { findNearest } from "../protocol/find-nearest.ts";
import { readPackageVersion } from "../server/read-package-version.ts";
import { createTerminal, OutputClosed, type Terminal } from "./terminal.ts";

interface ListedCommand {
  readonly command: CliCommand;
  readonly run: (parsed: ParsedCommand, terminal: Terminal) => Promise<number>;
}

export const COMMANDS: readonly ListedCommand[] = [
  // Each command loads on demand what it needs.
  { command: RUN, run: async (parsed, terminal) => (await import("./run-agent.ts")).runAgent(parsed, terminal) },
  { command: CHAT, run: async (parsed, terminal) => (await import("./chat/run-chat.ts")).runChat(parsed, terminal) },
  {
    command: SERVE,
    run: async (parsed, terminal) => (await import("./serve/serve.ts")).serve(parsed, terminal),
  },
  {
    command: SESSIONS,
    run: async (parsed, terminal) => (await import("./sessions/run-sessions.ts")).runSessions(parsed, terminal),
  },
  {
    command: TAIL,
    run: async (parsed, terminal) => (await import("./sessions/run-tail.ts")).runTail(parsed, terminal),
  },
  {
    command: REPLAY,
    run: async (parsed, terminal) => (await import("./sessions/run-replay.ts")).runReplay(parsed, terminal),
  },
  {
    command: INGEST,
    run: async (parsed, terminal) => (await import("./sessions/run-ingest.ts")).runIngest(parsed, terminal),
  },
  ...[RUNS, CANCEL, APPROVE].map((command) => ({
    command,
    run: async (...args: Parameters<ListedCommand["run"]>) =>
      (await import("./sessions/run-control.ts")).runControl(...args),
  })),
  {
    command: KB,
    run: async (parsed, terminal) => (await import("./kb/run-knowledge-base.ts")).runKnowledgeBase(parsed, terminal),
  },
  {
    command: TOKEN,
    run: async (parsed, terminal) => (await import("./token/run-tokens.ts")).runTokens(parsed, terminal),
  },
  ...[BACKUP, RESTORE, VERIFY].map((command) => ({
    command,
    run: async (...args: Parameters<ListedCommand["run"]>) =>
      (await import("./backup/run-backup.ts")).runBackup(...args),
  })),
  {
    command: STORE,
    run: async (parsed, terminal) => (await import("./store/run-store.ts")).runStore(parsed, terminal),
  },
  {
    command: OWNER,
    run: async (parsed, terminal) => (await import("./owner/run-owner.ts")).runOwner(parsed, terminal),
  },
  {
    command: DOCTOR,
    run: async (parsed, terminal) => (await import("./doctor/run-doctor.ts")).runDoctor(parsed, terminal),
  },
  { command: INIT, run: async (parsed, terminal) => (await import("./init/run-init.ts")).runInit(parsed, terminal) },
  {
    command: CONVERT,
    run: async (parsed, terminal) => (await import("./convert.ts")).runConvert(parsed, terminal),
  },
  { command: CHECK, run: async (parsed, terminal) => (await import("./check.ts")).runCheck(parsed, terminal) },
  { command: SCHEMA, run: async (parsed, terminal) => (await import("./schema.ts")).runSchema(parsed, terminal) },
  { command: DEMO, run: async (parsed, terminal) => (await import("./demo.ts")).runDemo(parsed, terminal) },
  {
    command: COMPLETION,
    run: async (parsed, terminal) =>
      runCompletion(
        COMMANDS.map(({ command }) => command),
        parsed,
        terminal,
      ),
  },
];

/** Longer lines are hard to read. */
const WIDEST_HELP = 100;
const OUTPUT_CLOSED = 141;

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
  const nearest = findNearest(
    name,
    COMMANDS.map(({ command }) => command.name),
  );
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
