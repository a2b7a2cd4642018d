/** Lists the newest sessions for completion: an ID, a tab and the title on each line. */
import type { ParsedCommand } from "../command.ts";
import { cleanText } from "../fit-text.ts";
import type { Terminal } from "../terminal.ts";
import { openService } from "./open-service.ts";

const MAX_LISTED = 100;
/** Bash evaluates other words that it completes. */
const PLAIN_ID = /^[\w@%+,.:-]+$/;

/** Uses the store or server of the environment. */
export async function listSessionIds(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  await using service = await openService(parsed, terminal);
  const { items } = await service.listSessions({ limit: MAX_LISTED });
  for (const { session_id, title = "" } of items)
    if (PLAIN_ID.test(session_id)) await terminal.write(`${session_id}\t${cleanText(title)}\n`);
  return 0;
}
