/**
 * Reads the frames of a session from a server. A stream that is cut continues after the last frame, byte for byte.
 *
 * Invariant: every frame is yielded once and in order, or the iteration throws.
 */
import { DEFAULT_RECONNECT } from "../../client/connection/backoff.ts";
import { SYSTEM_CLOCK } from "../../client/connection/clock.ts";
import { ReconnectingStream, type StreamFeed } from "../../client/connection/reconnecting-stream.ts";
import type { Transport } from "../../client/index.ts";
import type { StreamPosition } from "../../client/transport.ts";
import type { StreamReason, StreamState } from "../../client/view.ts";
import type { StreamFrame } from "../../log/index.ts";
import { LoomError } from "../../protocol/index.ts";
import type { FramesRequest } from "./session-service.ts";

/** Longest silence of the server, which sends heartbeats, in milliseconds. */
const HEARTBEAT_MS = 45_000;
/** Frames per request of stored records, so that a slow reader does not fill the memory. */
const PAGE_FRAMES = 1000;

/** The position is not valid, or no longer: a new connection does not help. */
const INVALID_POSITION: readonly string[] = ["cursor_stale", "cursor_ahead", "cursor_invalid"];

const STATE: StreamState = { status: "live", verified: false, undetectable: [] };

/** Yields frames until the end or, with `follow`, until the signal is aborted. */
export async function* readRemoteFrames(
  transport: Transport,
  session: string,
  request: Omit<FramesRequest, "strict">,
): AsyncGenerator<readonly StreamFrame[], void, undefined> {
  if (request.follow) {
    yield* readStream(transport, session, request);
    return;
  }
  const paged: Transport = {
    ...transport,
    open: (asked, sink, signal) => transport.open({ ...asked, limit: PAGE_FRAMES }, sink, signal),
  };
  let { after } = request;
  for (;;) {
    let count = 0;
    for await (const frames of readStream(paged, session, { ...request, after })) {
      count += frames.length;
      after = frames.at(-1)?.cursor ?? after;
      yield frames;
    }
    if (count === 0 || request.signal.aborted) return;
  }
}

async function* readStream(
  transport: Transport,
  session: string,
  { dialect, modes, after, follow, signal, onInterruption }: Omit<FramesRequest, "strict">,
): AsyncGenerator<readonly StreamFrame[], void, undefined> {
  if (signal.aborted) return;
  const feed = new FrameFeed(session, after, onInterruption);
  const stream = new ReconnectingStream(
    feed,
    { transport, dialect, modes, follow, reconnect: DEFAULT_RECONNECT, heartbeatMs: HEARTBEAT_MS, clock: SYSTEM_CLOCK },
    { onReachable: () => undefined, expectsSession: () => false },
  );
  const stop = (): void => stream.close();
  feed.onRestart = stop;
  signal.addEventListener("abort", stop, { once: true });
  try {
    for (let frames = await feed.next(); frames !== undefined; frames = await feed.next()) {
      if (frames.length > 0) yield frames;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    stream.close();
  }
}

/** Collects the frames of a stream until they are taken. Frames of one stream arrive in order, so none can be missing. */
class FrameFeed implements StreamFeed {
  readonly sessionId: string;
  readonly missing = undefined;
  readonly hasLiveRun = false;
  readonly detectsLoss = true;
  readonly runCount = 0;
  readonly state = STATE;
  onMissing: (() => void) | undefined;
  onOverflow: (() => void) | undefined;
  onRestart: () => void = () => undefined;
  frameCount = 0;
  #position: StreamPosition;
  #frames: StreamFrame[] = [];
  #isOver = false;
  #failure: StreamReason | undefined;
  #interruption: StreamReason | undefined;
  #changed = Promise.withResolvers<void>();
  readonly #onInterruption: ((message: string | undefined) => void) | undefined;

  constructor(
    sessionId: string,
    after: string | undefined,
    onInterruption: ((message: string | undefined) => void) | undefined,
  ) {
    this.sessionId = sessionId;
    this.#position = after === undefined ? {} : { after };
    this.#onInterruption = onInterruption;
  }

  get position(): StreamPosition {
    return this.#position;
  }

  /** Resolves to the frames that arrived since, or to undefined at the end. Throws if the stream failed. */
  async next(): Promise<readonly StreamFrame[] | undefined> {
    if (this.#frames.length === 0 && !this.#isOver) await this.#changed.promise;
    this.#changed = Promise.withResolvers();
    const frames = this.#frames;
    this.#frames = [];
    if (frames.length > 0 || !this.#isOver) return frames;
    if (this.#failure !== undefined) throw new LoomError(this.#failure.code, this.#failure.message);
    return undefined;
  }

  take(text: string, cursor?: string): void {
    if (this.#isOver) return;
    this.frameCount++;
    const { after, skip = 0 } = this.#position;
    this.#position = cursor === undefined ? { ...this.#position, skip: skip + 1 } : { after: cursor };
    this.#frames.push({ text, cursor: cursor ?? after ?? "" });
    this.#changed.resolve();
  }

  /** A session that is recreated while the stream is cut must not continue at the same number. */
  begin(cursor: string): void {
    if (this.frameCount === 0) this.#position = { ...this.#position, of: cursor };
  }

  fault(): void {
    // The stream requests the frame again.
  }

  refuse(message: string): void {
    this.fail({ code: "frame_refused", message });
    this.onRestart();
  }

  setRepairing(reason: StreamReason | undefined): void {
    if (reason !== undefined && INVALID_POSITION.includes(reason.code)) {
      this.fail(reason);
      this.onRestart();
      return;
    }
    const wasInterrupted = this.#interruption !== undefined;
    this.#interruption = reason;
    if (reason !== undefined ? !wasInterrupted : wasInterrupted) this.#onInterruption?.(reason?.message);
  }

  confirmStart(): boolean {
    return true;
  }

  giveUp(): void {
    // Nothing can be missing.
  }

  skipTo(eventId: number): void {
    this.#position = { after: String(eventId - 1) };
  }

  /** The position is no longer valid. Frames that were printed cannot be taken back. */
  restart(): void {
    this.fail(this.#interruption ?? { code: "cursor_stale", message: "The session was deleted and created again" });
    this.onRestart();
  }

  finish(): void {
    this.#isOver = true;
    this.#changed.resolve();
  }

  fail(reason: StreamReason): void {
    this.#failure ??= reason;
    this.finish();
  }
}
