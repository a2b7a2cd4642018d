/**
 * The command line: finds the command, gives it the world, and turns what it throws into a message and an exit code.
 * Exit codes: 0 fine, 1 the input breaks a rule, 2 the command could not do its work.
 */
import { runCheck } from "./check.ts";
import { runConvert } from "./convert.ts";
import { runDemo } from "./demo.ts";
import { CliError, type Command, parseCommand, usageOf } from "./command.ts";
import { CHECK, CONVERT, DEMO, SCHEMA } from "./commands.ts";
import { version } from "./package-version.ts";
import { runSchema } from "./schema.ts";
import { createTerminal } from "./terminal.ts";

const COMMANDS: readonly { readonly command: Command; readonly run: typeof runCheck }[] = [
  { command: CONVERT, run: runConvert },
  { command: CHECK, run: runCheck },
  { command: SCHEMA, run: runSchema },
  { command: DEMO, run: runDemo },
];

export async function main(argv: readonly string[]): Promise<number> {
  const terminal = createTerminal(process.stdin, process.stdout, process.stderr);
  try {
    const [name, ...rest] = argv;
    if (name === "--version" || name === "-v") {
      await terminal.write(`${version()}\n`);
      return 0;
    }
    if (name === undefined || name === "--help" || name === "-h" || name === "help") {
      const asked = COMMANDS.find(({ command }) => command.name === rest[0]);
      await terminal.write(asked === undefined ? overview() : usageOf(asked.command));
      return name === undefined ? 2 : 0;
    }
    const found = COMMANDS.find(({ command }) => command.name === name);
    if (found === undefined) throw new CliError(`there is no command \`${name}\``, "`loom --help` lists them");
    const parsed = parseCommand(found.command, rest);
    if (parsed.options["help"] === true) {
      await terminal.write(usageOf(found.command));
      return 0;
    }
    return await found.run(parsed, terminal);
  } catch (error) {
    if (terminal.closed) return 0;
    if (!(error instanceof CliError)) throw error;
    terminal.warn(`loom: ${error.message}${error.hint === undefined ? "" : `\n      ${error.hint}`}`);
    return 2;
  }
}

function overview(): string {
  const width = Math.max(...COMMANDS.map(({ command }) => command.name.length));
  const lines = COMMANDS.map(({ command }) => `  ${command.name.padEnd(width)}  ${command.summary}`);
  return `loom ${version()}: carry an agent's run to everyone who watches it\n\nUsage: loom COMMAND [OPTIONS]\n\n${lines.join("\n")}\n\n\`loom COMMAND --help\` tells more.\n`;
}
