/**
 * The command line: finds and runs the command, and turns its errors into a message and an exit code.
 *
 * Exit codes: 0 success, 1 invalid input or a failed run, 2 the command could not run, 141 standard output was closed
 * (as for SIGPIPE). `loom run` has further ones.
 */
import { runCheck } from "./check.ts";
import { runConvert } from "./convert.ts";
import { runDemo } from "./demo.ts";
import { CliError, type CliCommand, findSubcommand, listRows, parseCommand, usageOf } from "./command.ts";
import { BACKUP, RESTORE, VERIFY } from "./backup/backup-commands.ts";
import { DOCTOR } from "./doctor/doctor-command.ts";
import { CHECK, CONVERT, DEMO, RUN, SCHEMA } from "./commands.ts";
import { KB } from "./kb/kb-commands.ts";
import { OWNER } from "./owner/owner-commands.ts";
import { SERVE } from "./serve/serve-command.ts";
import { STORE } from "./store/store-commands.ts";
import { TOKEN } from "./token/token-commands.ts";
import { cleanText, wrapText } from "./fit-text.ts";
import { readPackageVersion } from "../server/read-package-version.ts";
import { runSchema } from "./schema.ts";
import { createTerminal, OutputClosed, type Terminal } from "./terminal.ts";

const COMMANDS: readonly { readonly command: CliCommand; readonly run: typeof runCheck }[] = [
  // Loaded on demand: the other commands do not need agents.
  { command: RUN, run: async (parsed, terminal) => (await import("./run-agent.ts")).runAgent(parsed, terminal) },
  {
    command: SERVE,
    run: async (parsed, terminal) => (await import("./serve/serve.ts")).serve(parsed, terminal),
  },
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
    run: async (...args: Parameters<typeof runCheck>) => (await import("./backup/run-backup.ts")).runBackup(...args),
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
  { command: CONVERT, run: runConvert },
  { command: CHECK, run: runCheck },
  { command: SCHEMA, run: runSchema },
  { command: DEMO, run: runDemo },
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
    case "--version":
    case "-v":
      await terminal.write(`${readPackageVersion()}\n`);
      return 0;
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

function findCommand(name: string): (typeof COMMANDS)[number] {
  const found = COMMANDS.find(({ command }) => command.name === name);
  if (found !== undefined) return found;
  throw new CliError(
    `unknown ${name.startsWith("-") ? "option" : "command"} \`${name}\``,
    "run `loom --help` for a list",
  );
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
  return `${title}

Usage: loom COMMAND [OPTIONS]

${listRows(rows, width)}

${more}
`;
}
