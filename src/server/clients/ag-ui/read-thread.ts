/**
 * Reads the messages of a session as a client of AG-UI has them: each run with the message that started it. Reads a
 * bounded number of runs, the newest.
 */
import { parseCursor } from "../../../log/cursor.ts";
import { openStream } from "../../../log/index.ts";
import type { RunInfo } from "../../../log/index.ts";
import type { Json } from "../../../protocol/index.ts";
import type { StreamModes } from "../../../protocol/stream-modes.ts";
import type { ServerCore } from "../../api/server-core.ts";
import { blobUrl } from "../../blobs/blob-rules.ts";
import { readRunStart } from "../../endpoints/run-records.ts";
import { type AgUiThreadMessage, ThreadFold } from "./thread-fold.ts";

export interface ThreadRequest {
  readonly session: string;
  /** Maximum number of runs. Default: `MAX_RUNS`. */
  readonly maxRuns?: number;
  /** Only runs before this one. */
  readonly before?: string | undefined;
  /** Only records up to this one. */
  readonly upTo?: number | undefined;
  /** For clients before version 1.0. */
  readonly legacy?: boolean;
  /** Stream modes: with `values`, the fold has the graph state. */
  readonly modes?: StreamModes;
}

export interface Thread {
  readonly fold: ThreadFold;
  /** The oldest run that was read, if there are older ones. */
  readonly cursor: string | undefined;
}

const MAX_RUNS = 100;
const MAX_RECORDS = 20_000;

export async function readThread(core: Pick<ServerCore, "log" | "basePath">, request: ThreadRequest): Promise<Thread> {
  const { log } = core;
  const { session, maxRuns = MAX_RUNS, before, upTo = Number.POSITIVE_INFINITY, legacy = false, modes } = request;
  const fold = new ThreadFold();
  const page = {
    limit: Math.max(1, Math.min(maxRuns, MAX_RUNS)) + 1,
    ...(before === undefined ? {} : { after: before }),
  };
  const found = (await log.listRuns(session, page)).filter(({ firstId }) => firstId <= upTo);
  const info = await log.getSession(session);
  const newest = found[0];
  if (newest === undefined || info === undefined) return { fold, cursor: undefined };
  const last = Math.min(newest.lastId ?? info.lastId, upTo);
  const runs = cutRuns(found, page.limit - 1, last).toReversed();
  const oldest = runs[0];
  if (oldest === undefined) return { fold, cursor: undefined };
  const questions = [...runs];
  const frames = openStream(log, session, {
    dialect: "ag-ui",
    encoderOptions: legacy ? { legacy } : {},
    ...(modes === undefined ? {} : { modes }),
    after: Math.max(oldest.firstId, info.firstId) - 1,
  });
  for await (const batch of frames)
    for (const { text, cursor } of batch) {
      const { eventId } = parseCursor(cursor);
      while ((questions[0]?.firstId ?? Number.POSITIVE_INFINITY) <= Math.min(eventId, last)) {
        const question = await readQuestion(core, session, questions.shift(), legacy);
        if (question !== undefined) fold.addMessage(question);
      }
      if (eventId > last) return { fold, cursor: nameOlder(found, runs) };
      fold.add(text);
    }
  return { fold, cursor: nameOlder(found, runs) };
}

/** The newest runs within the limits, newest first; at least one. */
function cutRuns(found: readonly RunInfo[], maxRuns: number, last: number): readonly RunInfo[] {
  return found.slice(0, maxRuns).filter(({ firstId }, index) => index === 0 || last - firstId < MAX_RECORDS);
}

function nameOlder(found: readonly RunInfo[], runs: readonly RunInfo[]): string | undefined {
  return found.length > runs.length ? runs[0]?.runId : undefined;
}

/** ID of the message that started a run: the one that the client gave it, if any. */
export function nameQuestion({ runId, requestId }: Pick<RunInfo, "runId" | "requestId">): string {
  return requestId ?? `user-${runId}`;
}

async function readQuestion(
  { log, basePath }: Pick<ServerCore, "log" | "basePath">,
  session: string,
  run: RunInfo | undefined,
  legacy: boolean,
): Promise<AgUiThreadMessage | undefined> {
  if (run === undefined) return undefined;
  const start = await readRunStart(log, session, run);
  if (start === undefined) return undefined;
  const { message = "", attachments = [] } = start;
  const id = nameQuestion(run);
  if (attachments.length === 0) return { id, role: "user", content: message };
  const files = attachments.map(({ blob_id, name, media_type }): Json => {
    const url = blobUrl({ basePath }, { sessionId: session, blobId: blob_id });
    const mimeType = media_type ?? "application/octet-stream";
    if (legacy) return { type: "binary", mimeType, url, ...(name === undefined ? {} : { filename: name }) };
    const type = /^(image|audio|video)\//.exec(mimeType)?.[1] ?? "document";
    return { type, source: { type: "url", value: url, mimeType } };
  });
  return { id, role: "user", content: [...(message === "" ? [] : [{ type: "text", text: message }]), ...files] };
}
