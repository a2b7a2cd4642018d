/**
 * Who asks for a command, as those know them who carry it out: whose sessions they touch, and what is written down of
 * them. It knows no request and no credential.
 */
import { type CreateOptions, type Log, LOCAL_OWNER, type SessionInfo } from "../../log/index.ts";
import { unknownSession } from "../../log/rules.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import type { NewRun } from "../auth/access.ts";
import type { ToolRules } from "../auth/principal.ts";

export interface CommandAuthor {
  /** Whose the sessions are that are made for them. */
  readonly owner: string;
  /** They may touch the sessions of everybody. */
  readonly isAdmin: boolean;
  /** The credential, as records name it: `token:k3x9…`. Undefined where nobody is asked who they are. */
  readonly actor?: string | undefined;
  /** The agents they may start, and consent for; all when absent. */
  readonly agents?: readonly string[] | undefined;
  /** What their runs may do with tools. */
  readonly tools?: ToolRules | undefined;
  /** Asked before a run is begun that was not asked for before. Throws why not. */
  readonly admitRun?: ((run: NewRun) => Promise<void>) | undefined;
}

/** Nobody is asked who they are: everything is everybody's. */
export const LOCAL_AUTHOR: CommandAuthor = { owner: LOCAL_OWNER, isAdmin: true };

/** Whether they may know of a session that is there. */
export function mayTouch({ owner, isAdmin }: CommandAuthor, info: SessionInfo): boolean {
  return isAdmin || info.owner === owner;
}

/** Throws `forbidden`. An agent without a name is nobody's in particular. */
export function assertAgent({ agents }: Pick<CommandAuthor, "agents">, agent: string | undefined): void {
  if (agents === undefined || agent === undefined || agents.includes(agent)) return;
  throw new LoomError("forbidden", `this credential may not start the agent "${agent.slice(0, 100)}", nor answer it`, {
    agent,
  });
}

/** Throws `unknown_session` where there is none, and where it is another's: nobody can tell which. */
export async function findOwn(log: Log, author: CommandAuthor, session: string): Promise<SessionInfo> {
  const info = await log.getSession(session);
  if (info === undefined || !mayTouch(author, info)) throw unknownSession(session);
  return info;
}

/** Makes it theirs where there is none. Throws `unknown_session` where it is another's, also since a moment ago. */
export async function makeOwn(
  log: Log,
  author: CommandAuthor,
  session: string,
  options: Omit<CreateOptions, "owner"> = {},
): Promise<SessionInfo> {
  try {
    return await log.createSession(session, { ...options, owner: author.owner });
  } catch (error) {
    if (!isLoomError(error, "session_exists")) throw error;
    return findOwn(log, author, session);
  }
}
