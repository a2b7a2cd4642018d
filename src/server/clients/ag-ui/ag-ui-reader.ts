/**
 * Fits the frames of a run to one request of an AG-UI client: with the IDs that the client chose, up to the point at
 * which the run waits for an answer of the client, without the results that the client itself has sent, and with a
 * snapshot where its messages are not those of the run: an interrupted attempt of the agent is repeated, or another client
 * was faster with a result.
 *
 * Invariants:
 * - A response that ends because the run waits ends with the record that made the run wait for the last of the answers,
 *   so that the request with the answers continues exactly there.
 * - Added frames take over the cursor of the frame before them. A client that resumes has all of them, or receives all.
 */
import { SUPERSEDED } from "../../../dialects/ag-ui/carried-events.ts";
import type { StreamFrame } from "../../../log/index.ts";
import type { JsonObject } from "../../../protocol/index.ts";
import { FrameBatch } from "../../streams/frame-batch.ts";
import { comparePositions, type Position, readPosition } from "../../streams/position.ts";
import type { ReaderEnd, Sink, StreamReader } from "../../streams/stream-reader.ts";
import type { Answered } from "./find-run.ts";
import { countCalls, describeWaiting, dropAnswered, listCalls, readWaiting } from "./waiting.ts";

export interface AgUiReaderOptions {
  /** IDs in the frames: those of the request. */
  readonly threadId: string;
  readonly runId: string;
  readonly parentRunId?: string | undefined;
  /** True if the client has received `RUN_STARTED` already. Default: false. */
  readonly isStarted?: boolean;
  /** What the request answers. The run does not wait for it again. */
  readonly answered: readonly Answered[];
  /** True for TanStack AI, for which calls that it carries out are interrupts. */
  readonly isTanStack: boolean;
  /** Results among the messages of the client, by call. It would add each of them again. */
  readonly ownResults: ReadonlyMap<string, string>;
  /** The client has all frames up to here. */
  readonly readUpTo?: Position | undefined;
  /** Frames to send after the first `RUN_STARTED`. */
  readonly snapshots: readonly string[];
  /** Returns frames that leave the client with the messages up to this frame, and no others. */
  readonly replaceMessages: (frame: StreamFrame) => Promise<readonly string[]>;
  /** True: each frame is an object with `id` and `chunk`. */
  readonly isEnveloped: boolean;
  /** Resolves to the ID of the last record of the session. */
  readonly findLastId: () => Promise<number>;
  /** Time without another reason to wait after which the response ends, in milliseconds. */
  readonly settleMs?: number;
}

/** More approvals of the same model answer follow within this time. */
const SETTLE_MS = 150;
/** How often a response waits once more because the log has records that the reader has not sent. */
const MAX_SETTLE_ROUNDS = 20;

/** Maximum number of frames held back. Beyond it, the response ends. */
const MAX_HELD = 10_000;

/** What a run waits for: the frame that says so, and the calls. */
interface RunPause {
  readonly frame: StreamFrame;
  readonly calls: ReadonlySet<string>;
}

export function createAgUiReader(reader: StreamReader, options: AgUiReaderOptions): StreamReader {
  let sink: AgUiSink | undefined;
  return {
    session: reader.session,
    cursor: reader.cursor,
    start: (target) => reader.start((sink = new AgUiSink(reader, target, options))),
    resume: () => sink?.resume(),
    close: (reason) => reader.close(reason),
  };
}

class AgUiSink implements Sink {
  readonly #reader: StreamReader;
  readonly #target: Sink;
  readonly #options: AgUiReaderOptions;
  #readUpTo: Position | undefined;
  #snapshots: readonly string[];
  /** Empty after a snapshot, which has replaced the messages of the client. */
  #ownResults: ReadonlyMap<string, string>;
  /** True between `RUN_STARTED` and the end of the run, as the client sees it. */
  #isStarted = false;
  /** The last frame that ended or paused the run, if the client has already received it. */
  #received: StreamFrame | undefined;
  #pause: RunPause | undefined;
  /** Frames after the pause. They are sent if the run turns out to wait for more. */
  #held: StreamFrame[] = [];
  #lastId = 0;
  #rounds = 0;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;
  #hasRoom = true;
  /** True while snapshots for a batch are read. The sink takes nothing else until then. */
  #isReading = false;
  /** The end of the reader, if it came while snapshots were read. */
  #end: ReaderEnd | undefined;

  constructor(reader: StreamReader, target: Sink, options: AgUiReaderOptions) {
    this.#reader = reader;
    this.#target = target;
    this.#options = options;
    this.#readUpTo = options.readUpTo;
    this.#snapshots = options.snapshots;
    this.#isStarted = options.isStarted ?? false;
    this.#ownResults = options.ownResults;
  }

  write(batch: FrameBatch): boolean {
    if (this.#isOver) return true;
    const replacing = batch.frames.filter((frame) => this.#isReplacing(frame) && !this.#isKnown(frame));
    if (replacing.length === 0) return this.#take(batch);
    this.#isReading = true;
    void this.#takeWithSnapshots(batch, replacing);
    return false;
  }

  resume(): void {
    this.#hasRoom = true;
    if (!this.#isReading) this.#reader.resume();
  }

  end(end: ReaderEnd): void {
    if (this.#isOver) return;
    if (this.#isReading && end.reason === "end") {
      this.#end = end;
      return;
    }
    this.#stop();
    if (end.reason === "end") {
      const rest = this.#held.splice(0);
      // A client that repeats a request after the last frame takes an empty response for an error.
      const repeated = this.#received === undefined ? [] : [{ text: this.#received.text, cursor: "" }];
      this.#send([...rest, ...repeated]);
    }
    this.#target.end(end);
  }

  async #takeWithSnapshots(batch: FrameBatch, replacing: readonly StreamFrame[]): Promise<void> {
    try {
      const snapshots = new Map<StreamFrame, readonly string[]>();
      for (const frame of replacing) snapshots.set(frame, await this.#options.replaceMessages(frame));
      this.#isReading = false;
      if (this.#isOver) return;
      const hasRoom = this.#take(batch, snapshots);
      if (this.#end !== undefined) this.end(this.#end);
      else if (hasRoom) this.#reader.resume();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#stop();
    this.#reader.close();
    this.#target.end({ reason: "error", cursor: "", error });
  }

  #take(batch: FrameBatch, snapshots: Snapshots = NO_SNAPSHOTS): boolean {
    const frames = batch.frames.flatMap((frame) => this.#convert(frame, snapshots.get(frame)));
    this.#lastId = readPosition(batch.cursor).eventId;
    return this.#send(frames, batch);
  }

  #stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #send(frames: readonly StreamFrame[], { origin, mayEndRun } = NO_ORIGIN): boolean {
    const last = frames.at(-1);
    if (last === undefined) return this.#hasRoom;
    const sent = this.#options.isEnveloped ? frames.map(envelop) : frames;
    this.#hasRoom = this.#target.write(new FrameBatch(origin, sent, mayEndRun));
    return this.#hasRoom;
  }

  /** Returns the frames to send now. */
  #convert(frame: StreamFrame, snapshots: readonly string[] = []): readonly StreamFrame[] {
    const type = readType(frame.text);
    if (this.#isRead(frame)) {
      this.#skip(type, frame);
      return [];
    }
    if (type === "RUN_STARTED") return this.#startRun(frame);
    if (type === "RUN_FINISHED") return this.#finishRun(frame);
    this.#received = undefined;
    const isOwn = this.#findOwn(frame) !== undefined;
    if (snapshots.length === 0) return isOwn ? [] : this.#pass(frame);
    this.#ownResults = NO_RESULTS;
    const texts = isOwn ? snapshots : [frame.text, ...snapshots];
    return moveCursor(texts, frame.cursor).flatMap((each) => this.#pass(each));
  }

  /** True if the messages of the client are others than those of the run. */
  #isReplacing(frame: StreamFrame): boolean {
    return frame.text.startsWith(SUPERSEDING) || this.#findOwn(frame)?.isSame === false;
  }

  /** Compares the result of a call with the one that the client has; undefined if it has none. */
  #findOwn({ text }: StreamFrame): { readonly isSame: boolean } | undefined {
    if (this.#ownResults.size === 0 || readType(text) !== "TOOL_CALL_RESULT") return undefined;
    const { toolCallId, content } = JSON.parse(text) as { readonly toolCallId: string; readonly content: string };
    const own = this.#ownResults.get(toolCallId);
    return own === undefined ? undefined : { isSame: own === content };
  }

  #isRead(frame: StreamFrame): boolean {
    const isKnown = this.#isKnown(frame);
    if (!isKnown) this.#readUpTo = undefined;
    return isKnown;
  }

  /** True if the client has the frame. */
  #isKnown({ cursor }: StreamFrame): boolean {
    return this.#readUpTo !== undefined && comparePositions(readPosition(cursor), this.#readUpTo) <= 0;
  }

  /** The client has the frame. If it was the last one of a response, it may have to be sent again. */
  #skip(type: string, frame: StreamFrame): void {
    if (type === "RUN_FINISHED") this.#finishRun(frame, true);
    else if (type === "RUN_ERROR") this.#received = frame;
    // Every other frame comes between the start and the end of a run.
    this.#isStarted = type !== "RUN_FINISHED" && type !== "RUN_ERROR";
  }

  #pass(frame: StreamFrame): readonly StreamFrame[] {
    if (this.#pause === undefined) return [frame];
    this.#held.push(frame);
    if (this.#held.length > MAX_HELD) void this.#settle(MAX_SETTLE_ROUNDS);
    return [];
  }

  #startRun(frame: StreamFrame): readonly StreamFrame[] {
    this.#received = undefined;
    if (this.#isStarted) return [];
    this.#isStarted = true;
    const { parentRunId } = this.#options;
    const started = this.#rename(frame, parentRunId === undefined ? {} : { parentRunId });
    const texts = [started.text, ...this.#snapshots];
    this.#snapshots = [];
    return texts.length === 1 ? this.#pass(started) : moveCursor(texts, frame.cursor);
  }

  #finishRun(frame: StreamFrame, isRead = false): readonly StreamFrame[] {
    const given = JSON.parse(frame.text) as JsonObject;
    const { answered, isTanStack } = this.#options;
    const waiting = readWaiting(given);
    const isPaused = countCalls(waiting) > 0;
    const open = dropAnswered(waiting, answered);
    const calls = listCalls(open);
    const flushed = this.#flush(calls);
    if (isPaused && calls.length === 0) return flushed;
    const named = this.#rename(frame, isPaused ? describeWaiting(given, open, isTanStack) : {});
    if (!isPaused) {
      this.#isStarted = false;
      if (!isRead) return [...flushed, named];
      this.#received = named;
      return [];
    }
    if (this.#pause === undefined) {
      this.#pause = { frame: isRead ? { text: named.text, cursor: "" } : named, calls: new Set(calls) };
      this.#rounds = 0;
      this.#arm();
    }
    return flushed;
  }

  /** Ends the pause and returns what was held back, if the run waits for something else, or for nothing. */
  #flush(calls: readonly string[]): readonly StreamFrame[] {
    const known = this.#pause?.calls;
    if (known === undefined || (calls.length > 0 && calls.every((call) => known.has(call)))) return [];
    this.#pause = undefined;
    clearTimeout(this.#timer);
    return this.#held.splice(0);
  }

  #arm(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#settle(), this.#options.settleMs ?? SETTLE_MS);
  }

  async #settle(rounds = this.#rounds++): Promise<void> {
    let lastId: number;
    try {
      lastId = await this.#options.findLastId();
    } catch (error) {
      // The run may wait for more than the client would see.
      if (this.#pause !== undefined) this.#fail(error);
      return;
    }
    const pause = this.#pause;
    if (this.#isOver || pause === undefined) return;
    if (lastId > this.#lastId && rounds < MAX_SETTLE_ROUNDS) {
      this.#arm();
      return;
    }
    this.#stop();
    this.#send([pause.frame]);
    this.#reader.close("end");
    this.#target.end({ reason: "end", cursor: pause.frame.cursor });
  }

  #rename({ text, cursor }: StreamFrame, changed: JsonObject): StreamFrame {
    const { threadId, runId } = this.#options;
    return { text: JSON.stringify({ ...(JSON.parse(text) as JsonObject), threadId, runId, ...changed }), cursor };
  }
}

const NO_ORIGIN: Pick<FrameBatch, "origin" | "mayEndRun"> = {
  origin: { session: "", dialect: "ag-ui" },
  mayEndRun: false,
};

/** What to send after some frames. */
type Snapshots = ReadonlyMap<StreamFrame, readonly string[]>;

const NO_SNAPSHOTS: Snapshots = new Map();
const NO_RESULTS: ReadonlyMap<string, string> = new Map();
const SUPERSEDING = `{"type":"CUSTOM","name":"${SUPERSEDED}"`;

/** The cursor is with the last frame: a client that resumes after it has all of them. */
function moveCursor(texts: readonly string[], cursor: string): readonly StreamFrame[] {
  return texts.map((text, index) => ({ text, cursor: index === texts.length - 1 ? cursor : "" }));
}

const TYPE = /^\{"type":"(\w+)"/;

function readType(text: string): string {
  return TYPE.exec(text)?.[1] ?? "";
}

function envelop({ text, cursor }: StreamFrame): StreamFrame {
  return cursor === "" ? { text, cursor } : { text: `{"id":${JSON.stringify(cursor)},"chunk":${text}}`, cursor };
}
