/** `loom serve`: reads the settings, then prints them or runs the server. The server is loaded only if it runs. */
import type { ParsedCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { readSettings } from "./read-settings.ts";
import { describeSettings } from "./serve-command.ts";

const WIDEST = 120;

export async function serve(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const read = readSettings(parsed);
  for (const warning of read.warnings) terminal.warn(warning);
  if (parsed.options["print-config"] === true) {
    await terminal.write(describeSettings(read, Math.min(terminal.columns ?? WIDEST, WIDEST)));
    return 0;
  }
  const { runServer } = await import("./run-server.ts");
  return runServer(read.values, terminal);
}
