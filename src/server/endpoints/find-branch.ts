/**
 * Finds the version of a conversation that a client means, for clients that keep one ID while a conversation is forked.
 * Only the owner of a session finds other versions; a share link and a ticket for one session give access to it alone.
 *
 * Words: a branch is one version of a conversation, and is stored as a session. The head is the newest version. The
 * version of the AI SDK that a client uses is called `sdkVersion`.
 */
import type { RunInfo, SessionInfo } from "../../log/index.ts";
import { unknownSession } from "../../log/rules.ts";
import type { ServerCore } from "../api/server-core.ts";
import { type Caller, isAllowed } from "../auth/authorize.ts";
import type { Action } from "../auth/scopes.ts";

/** Maximum number of versions that are searched for a run, newest first. */
const MAX_SEARCHED = 500;

/**
 * Returns the newest version of the conversation that the session belongs to; the session itself if the caller may only
 * read this one; undefined if it does not exist. Throws `unknown_session` if the caller may not read it. The
 * caller's permission for anything but reading must be checked for the returned session.
 */
export async function findHead(core: ServerCore, caller: Caller, session: string): Promise<SessionInfo | undefined> {
  const [head] = await listNewest(core, caller, session, 1);
  return head;
}

/**
 * Returns the newest version of the conversation, for an action for which the caller is authorized on the session that it
 * names. Throws `unknown_session` if there is none.
 */
export async function openHead(
  core: ServerCore,
  caller: Caller,
  session: string,
  action: Action,
): Promise<SessionInfo> {
  const head = await findHead(core, caller, session);
  if (head === undefined) throw unknownSession(session);
  if (head.sessionId !== session) await core.authorize({ caller, action, session: head.sessionId });
  return head;
}

/** A run, and a version of the conversation that has it. */
export interface RunBranch {
  readonly session: string;
  readonly run: RunInfo;
}

/**
 * Returns the newest version of the conversation whose latest run is this one, otherwise the newest one that has the
 * run at all; undefined if none has it. Throws like `findHead`.
 */
export async function findBranchWithRun(
  core: ServerCore,
  caller: Caller,
  conversation: string,
  runId: string,
): Promise<RunBranch | undefined> {
  const { log } = core;
  let newest: RunBranch | undefined;
  for (const { sessionId: session } of await listNewest(core, caller, conversation, MAX_SEARCHED)) {
    const run = await log.getRun(session, runId);
    if (run === undefined) continue;
    const [latest] = await log.listRuns(session, { limit: 1 });
    if (latest?.runId === runId) return { session, run };
    newest ??= { session, run };
  }
  return newest;
}

async function listNewest(
  core: ServerCore,
  caller: Caller,
  session: string,
  limit: number,
): Promise<readonly SessionInfo[]> {
  const { log } = core;
  const info = await log.getSession(session);
  if (info === undefined) return [];
  await core.authorize({ caller, action: "sessions.read", session });
  // The cookie of a share link alone does not authenticate.
  const mayList =
    caller.principal.only === undefined &&
    (await isAllowed(core.authorize, { caller, action: "sessions.list", session }));
  return mayList ? log.listBranches(session, { limit, newestFirst: true }) : [info];
}
