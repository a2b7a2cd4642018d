/**
 * A message that comes by HTTP: it becomes a command under the request's key, and its run can be named at once, whether
 * it has begun or waits for its turn.
 *
 * Invariant: the same key is the same run, whenever it is asked for; whoever leaves stops nothing.
 */
import { formatCursor } from "../../log/index.ts";
import { unknownSession } from "../../log/rules.ts";
import { LoomError } from "../../protocol/index.ts";
import type { StartedRun, StartRun } from "../api/shapes.generated.ts";
import { deriveRunId } from "../commands/derive-run-id.ts";
import type { ServerCore } from "../server-core.ts";
import { addressOfRunEvents } from "./addresses.ts";
import { ask } from "./command-door.ts";

/** Attachments of one message. Code `invalid_request`. */
const MAX_ATTACHMENTS = 100;

export interface AskedRun {
  readonly session: string;
  readonly run: string;
  /** The command's. */
  readonly key: string;
}

export async function startRun(core: ServerCore, session: string, key: string, asked: StartRun): Promise<AskedRun> {
  const { attachments, ...message } = asked;
  const found = attachments === undefined ? undefined : await findBlobs(core, session, attachments);
  const { result } = await ask(core, {
    ...message,
    ...(found === undefined ? {} : { attachments: found }),
    type: "run",
    id: key,
    session,
  });
  const { run_id: named } = result ?? {};
  return { session, key, run: typeof named === "string" ? named : (asked.run_id ?? deriveRunId(session, key)) };
}

/** Blobs are there before the message that speaks of them. */
async function findBlobs({ blobs }: ServerCore, session: string, asked: NonNullable<StartRun["attachments"]>) {
  if (asked.length > MAX_ATTACHMENTS)
    throw new LoomError("invalid_request", `a message has at most ${MAX_ATTACHMENTS} attachments`);
  return Promise.all(
    asked.map(async ({ blob_id, name }) => {
      const info = await blobs?.get(session, blob_id);
      if (info === undefined)
        throw new LoomError("unknown_blob", `session "${session}" has no blob ${blob_id.slice(0, 80)}`, { blob_id });
      const called = name ?? info.name;
      return {
        blob_id: info.blobId,
        ...(called === undefined ? {} : { name: called }),
        media_type: info.mediaType,
        bytes: info.bytes,
      };
    }),
  );
}

export async function describeStarted(core: ServerCore, { session, run, key }: AskedRun): Promise<StartedRun> {
  // In this order: a run that is not there now begins after the last record of the session.
  const info = await core.log.getSession(session);
  if (info === undefined) throw unknownSession(session);
  const found = await core.log.getRun(session, run);
  return {
    session_id: session,
    run_id: run,
    command_id: key,
    status: found?.status ?? "queued",
    cursor: formatCursor(info.incarnation, found === undefined ? info.lastId : found.firstId - 1),
    events: addressOfRunEvents(core, session, run),
  };
}
