/** The newest sessions: for `--continue`, and for completion. */
import { CliError, type ParsedCommand, textOption } from "../command.ts";
import { explainErrors } from "../explain-error.ts";
import type { Terminal } from "../terminal.ts";
import { cleanText } from "../fit-text.ts";
import { openService } from "./open-service.ts";
import { findSession } from "./run-sessions.ts";
import { describeNextCommand } from "./server-settings.ts";
import type { SessionService } from "./session-service.ts";

const MAX_COMPLETED = 100;
/** Bash evaluates other words that it completes. */
const PLAIN_ID = /^[\w@%+,.:-]+$/;
/** Number of the newest sessions among which `--continue` chooses. */
const LATEST_AMONG = 200;

/** Sessions are listed by creation; among the newest, the one that changed last is meant. */
export async function findLatest(service: SessionService, parsed: ParsedCommand): Promise<string> {
  const { items } = await service.listSessions({ limit: LATEST_AMONG });
  const [latest] = items.toSorted((one, other) => other.updated_at - one.updated_at);
  if (latest !== undefined) return latest.session_id;
  const start = describeNextCommand(parsed, parsed.command.name);
  throw new CliError("there is no session to continue", `start one with \`${start}\``);
}

/** Completes `--session` of `loom run`: for `--continue`, and for the start of an ID with `--resume`. */
export async function nameSession(parsed: ParsedCommand, terminal: Terminal): Promise<ParsedCommand> {
  const { continue: isContinued, ...options } = parsed.options;
  const word = textOption(parsed, "session");
  if (isContinued === true && word !== undefined)
    throw new CliError("`--continue` and `--session` cannot be used together");
  // With a message, a session that does not exist is created.
  if (isContinued !== true && (word === undefined || options["resume"] !== true)) return parsed;
  return explainErrors(async () => {
    await using service = await openService(parsed, terminal);
    const session =
      word === undefined ? await findLatest(service, parsed) : (await findSession(service, word, parsed)).session_id;
    return { ...parsed, options: { ...options, session } };
  });
}

/** Prints an ID, a tab and a title on each line. Uses the store or server of the environment. */
export async function listSessionIds(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  await using service = await openService(parsed, terminal);
  const { items } = await service.listSessions({ limit: MAX_COMPLETED });
  for (const { session_id, title = "" } of items)
    if (PLAIN_ID.test(session_id)) await terminal.write(`${session_id}\t${cleanText(title)}\n`);
  return 0;
}
