/**
 * The author of a command: which sessions the author may access, and what the log records about the author. It does not
 * know requests or credentials.
 */
import type { Log, SessionInfo } from "../../log/index.ts";
import type { CreateOptions } from "../../log/log.ts";
import type { RunLimit } from "../../log/log-limits.ts";
import { LOCAL_OWNER, sessionIdTaken, assertSession, unknownSession } from "../../log/rules.ts";
import { isLoomError } from "../../protocol/index.ts";
import type { ToolRules } from "../auth/principal.ts";

export interface CommandAuthor {
  /** Owner of the sessions created for this author. */
  readonly owner: string;
  /** The author may access the sessions of all owners. */
  readonly isAdmin: boolean;
  /** Credential as recorded in the log, for example `token:k3x9…`. Undefined if authentication is off. */
  readonly actor?: string | undefined;
  /** Agents the author may start and approve tool calls for. Default: all. */
  readonly agents?: readonly string[] | undefined;
  /** Tool permissions of the author's runs. */
  readonly tools?: ToolRules | undefined;
  /** Called with the agent before a new run is accepted, not for a repeated message. Throws to reject the run. */
  readonly admitRun?: ((agent: string) => Promise<void>) | undefined;
  /** How many runs the author may have at once. Default: any number. */
  readonly runLimit?: RunLimit | undefined;
}

/** The author when authentication is off: may access every session. */
export const LOCAL_AUTHOR: CommandAuthor = { owner: LOCAL_OWNER, isAdmin: true };

/** Whether the author may access the session. */
export function canAccess({ owner, isAdmin }: CommandAuthor, info: SessionInfo): boolean {
  return isAdmin || info.owner === owner;
}

/**
 * Throws `unknown_session` both for a missing session and for one of another owner, so that callers cannot tell them
 * apart.
 */
export async function findOwnSession(log: Log, author: CommandAuthor, session: string): Promise<SessionInfo> {
  const info = await log.getSession(session);
  if (info === undefined || !canAccess(author, info)) throw unknownSession(session);
  return info;
}

/**
 * Returns the author's session and creates it if it does not exist. Throws `session_id_taken` if it belongs to another
 * owner, even if that owner created it at the same moment.
 */
export async function ensureOwnSession(
  log: Log,
  author: CommandAuthor,
  session: string,
  options: Omit<CreateOptions, "owner"> = {},
): Promise<SessionInfo> {
  try {
    return await log.createSession(session, { ...options, owner: author.owner });
  } catch (error) {
    if (!isLoomError(error, "session_exists")) throw error;
    const info = assertSession(await log.getSession(session), session);
    if (!canAccess(author, info)) throw sessionIdTaken(session);
    return info;
  }
}
