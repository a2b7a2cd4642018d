/**
 * Creates a fork for a caller: with its permissions, a slot among the forks, and the blobs of the original. The fork
 * endpoint uses it, and endpoints whose clients edit or regenerate a message.
 */
import type { SessionInfo } from "../../log/index.ts";
import { assertSessionId } from "../../log/rules.ts";
import { LoomError } from "../../protocol/index.ts";
import { enterGate } from "../api/gates.ts";
import type { ServerCore } from "../api/server-core.ts";
import type { ForkSession } from "../api/shapes.generated.ts";
import type { Caller } from "../auth/authorize.ts";
import { blobUrl, damagedBlob, reserveIn } from "../blobs/blob-rules.ts";
import { canAccess, type CommandAuthor } from "../commands/command-author.ts";
import { authorOf } from "../commands/command-host.ts";
import { deriveSessionId } from "./derive-session-id.ts";
import { findSession } from "./find-session.ts";
import { type ForkedSessionInfo, forkOnce, hasForkPoint, resumesRun } from "./fork-once.ts";

export interface ForkCall {
  /** Session to copy from. */
  readonly from: string;
  readonly options: ForkSession;
  /** The ID of the fork is derived from the key, the original and the owner, unless the options have one. */
  readonly key: string;
  /** The call may be repeated with its key and then returns the fork that it created. */
  readonly isKeyed: boolean;
  /** A copy of the whole session is a version of the same conversation. Default: it begins another one. */
  readonly isVersion?: boolean;
  /** Ends the wait for a slot. */
  readonly signal: AbortSignal;
}

/** Forks a session that the caller may read. Throws `too_many_forks`, and what `forkOnce` throws. */
export async function createFork(
  core: ServerCore,
  caller: Caller,
  { from, options, key, isKeyed, isVersion = false, signal }: ForkCall,
): Promise<{ readonly fork: ForkedSessionInfo; readonly isNew: boolean }> {
  // A copy and a fork at a checkpoint have different IDs, so that one key can be used for both.
  const kind = hasForkPoint(options) ? "fork" : "copy";
  const author = authorOf(core, caller);
  const to = options.session_id ?? deriveSessionId(JSON.stringify([kind, from, key]), author.owner);
  await core.authorize({ caller, action: "sessions.create", session: to });
  assertSessionId(to);
  if (resumesRun(options)) await authorizeResume(core, caller, from, to);
  const [oldUrl, newUrl] = [from, to].map((sessionId) => blobUrl(core, { sessionId, blobId: "" })) as [string, string];
  const moveImage = (url: string): string => (url.startsWith(oldUrl) ? newUrl + url.slice(oldUrl.length) : url);
  const { owner, actor, tools, runLimit } = author;
  const release = await enterGate(core, "forks", caller, signal);
  try {
    const fresh = { isVersion, moveImage, owner, actor, tools, runLimit };
    const made = await forkOnce(core.log, { from, to, options, isKeyed, ...fresh });
    const { checkpointId } = made.fork;
    // Also for an existing fork: the earlier request may have been interrupted before the blobs were copied.
    await deleteForkOnError(core, made.fork, made.isNew, async () => {
      if (checkpointId !== undefined && made.isNew) await admitLatestRun(core, author, to);
      await copyBlobs(core, from, to);
    });
    // Its run is live and needs a process to resume it.
    if (checkpointId !== undefined) void core.runs.dispatch(to);
    return made;
  } finally {
    release();
  }
}

/**
 * Returns the fork of a session before one of its runs, for a message that is edited or answered again. Repeated with
 * the same key, it returns the same fork; with the key of another run it throws `command_conflict`. The caller needs
 * permission to read the session and to create one.
 */
export async function branchBeforeRun(
  core: ServerCore,
  caller: Caller,
  branch: { readonly session: string; readonly run: string; readonly key: string; readonly signal: AbortSignal },
): Promise<SessionInfo> {
  const { session: from, run, key, signal } = branch;
  await core.authorize({ caller, action: "sessions.read", session: from });
  const { fork } = await createFork(core, caller, { from, options: { before_run: run }, key, isKeyed: true, signal });
  return fork;
}

/**
 * Resuming a run counts as starting one. The run keeps its permissions, and its original author is charged, so a caller
 * with fewer permissions, or with read access only, must not resume it.
 */
async function authorizeResume(core: ServerCore, caller: Caller, from: string, to: string): Promise<void> {
  await core.authorize({ caller, action: "runs.start", session: to });
  if (!canAccess(authorOf(core, caller), await findSession(core.log, from)))
    throw new LoomError("forbidden", "A shared session can be copied, but its runs cannot be resumed");
  if (caller.principal.tools !== undefined)
    throw new LoomError(
      "forbidden",
      "A credential with tool rules cannot resume a run that another credential started; fork before a run instead",
    );
}

/** Throws if the author may not start the run that the fork resumes. */
async function admitLatestRun({ log, runs }: ServerCore, { admitRun }: CommandAuthor, session: string): Promise<void> {
  if (admitRun === undefined) return;
  const [latest] = await log.listRuns(session, { limit: 1 });
  if (latest !== undefined) await admitRun(runs.resolveAgent(latest.agent));
}

type ForkStore = Pick<ServerCore, "log" | "blobs">;

/** Deletes a new fork if it cannot be completed. */
export async function deleteForkOnError(
  { log, blobs }: ForkStore,
  { sessionId }: SessionInfo,
  isNew: boolean,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isNew) throw error;
    await log.deleteSession(sessionId);
    await blobs?.deleteSession(sessionId);
    throw error;
  }
}

/** The records of the fork refer to these blobs. */
export async function copyBlobs({ log, blobs }: ForkStore, from: string, to: string): Promise<void> {
  if (blobs === undefined) return;
  // The fork would refer to a blob that it does not have.
  const refuseDamaged = (blobId: string): never => {
    throw damagedBlob(from, blobId);
  };
  for (const { blobId, mediaType, name } of await blobs.list(from, refuseDamaged)) {
    const { bytes } = await blobs.read(from, blobId);
    await blobs.put(to, bytes, { mediaType, name, reserve: reserveIn(log, to) });
  }
}
