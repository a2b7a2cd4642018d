/** What a reader asks for, from the texts of a control frame or an address, and the stream that begins there. */
import { type DialectName, isDialectName } from "../../dialects/index.ts";
import { DEFAULT_MAX_LINE_BYTES } from "../../framing/index.ts";
import {
  type Log,
  openSteps,
  type StreamFrame,
  type StreamOptions,
  type StreamPlace,
  type StreamStep,
} from "../../log/index.ts";
import { LoomError, readStreamModes } from "../../protocol/index.ts";

export interface AskedPlace {
  readonly dialect?: string | undefined;
  /** Names of stream modes. */
  readonly modes?: readonly string[] | undefined;
  /** A cursor, or the event_id of a record as digits. */
  readonly after?: string | undefined;
  readonly skip?: number | undefined;
  /** Any cursor of the session that is meant. */
  readonly of?: string | undefined;
}

/**
 * The longest frame that is sent unless told otherwise. Receivers read lines of so many bytes, and messages of twice as
 * many, in which a frame is at most twice as long; what is around it has to fit as well.
 */
export const MAX_FRAME_BYTES: number = DEFAULT_MAX_LINE_BYTES - 4096;

export interface OpenedStream extends StreamPlace {
  /** To be read once: as they are, or their frames. */
  readonly steps: AsyncGenerator<StreamStep, void, undefined>;
  readonly batches: AsyncIterable<readonly StreamFrame[]>;
  /** To be called at the end, however it came about: nothing may ever have been asked for. */
  close(): Promise<void>;
}

export function readPlace({ dialect = "loom", modes, after, skip, of }: AskedPlace): StreamOptions {
  const place = {
    dialect: readDialect(dialect),
    modes: modes === undefined ? undefined : readStreamModes(modes),
    skip,
    of: of === "" ? undefined : of,
  };
  if (after === undefined || after === "") return place;
  if (!/^\d+$/.test(after)) return { ...place, cursor: after };
  const id = Number(after);
  if (!Number.isSafeInteger(id)) throw new LoomError("cursor_invalid", `no record is numbered ${after.slice(0, 40)}`);
  return { ...place, after: id };
}

/**
 * Resolves when the place is known to be good, without waiting for anything to come that is not there yet; what is wrong
 * with it, or with the first frame, rejects: whoever was cut off there is told why when they ask again. The same stream goes on, so nothing is skipped twice. Undefined where it was aborted before that.
 */
export async function openPlace(
  log: Log,
  sessionId: string,
  options: StreamOptions,
): Promise<OpenedStream | undefined> {
  const { promise: placed, resolve } = Promise.withResolvers<StreamPlace>();
  const rest = openSteps(log, sessionId, { ...options, onPlaced: resolve });
  const first = rest.next();
  // Once the place is good, whoever asks for the first step is told what became of it.
  first.catch(() => undefined);
  const place = await Promise.race([placed, first.then(() => undefined)]);
  if (place === undefined) return undefined;
  const steps = goOn(first, rest);
  return {
    ...place,
    steps,
    batches: pickFrames(steps),
    close: async () => void (await rest.return().catch(() => undefined)),
  };
}

type Steps = AsyncGenerator<StreamStep, void, undefined>;

async function* goOn(first: ReturnType<Steps["next"]>, rest: Steps): Steps {
  const { done, value } = await first;
  if (done === true) return;
  yield value;
  yield* rest;
}

async function* pickFrames(steps: Steps): AsyncGenerator<readonly StreamFrame[], void, undefined> {
  for await (const { frames } of steps) if (frames.length > 0) yield frames;
}

function readDialect(name: string): DialectName {
  if (isDialectName(name)) return name;
  throw new LoomError("invalid_name", `there is no dialect "${name.slice(0, 40)}"`);
}
