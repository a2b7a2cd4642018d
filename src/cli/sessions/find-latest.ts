/** `--continue`: chooses the session that changed last. */
import { CliError, type ParsedCommand } from "../command.ts";
import { explainErrors } from "../explain-error.ts";
import type { Terminal } from "../terminal.ts";
import { openService } from "./open-service.ts";
import { describeNextCommand } from "./run-sessions.ts";
import type { SessionService } from "./session-service.ts";

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

/** Replaces `--continue` of `loom run` by the ID of the session. */
export async function nameLatest(parsed: ParsedCommand, terminal: Terminal): Promise<ParsedCommand> {
  const { continue: isContinued, ...options } = parsed.options;
  if (isContinued !== true) return parsed;
  if (options["session"] !== undefined) throw new CliError("`--continue` and `--session` cannot be used together");
  return explainErrors(async () => {
    await using service = await openService(parsed, terminal);
    return { ...parsed, options: { ...options, session: await findLatest(service, parsed) } };
  });
}
