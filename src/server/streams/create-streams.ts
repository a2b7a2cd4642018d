/** The readers of a server's sessions. */
import type { Log, StreamFrame } from "../../log/index.ts";
import type { StreamMeter } from "../../observe/index.ts";
import { LoomError } from "../../protocol/index.ts";
import { Chunk } from "./chunk.ts";
import type { Reader, ReaderEnd, ReadRequest, Sink, StreamLimits, Streams } from "./reader.ts";
import { type OpenedStream, openPlace, readPlace } from "./stream-place.ts";

export interface StreamsOptions {
  readonly log: Log;
  readonly limits: StreamLimits;
  readonly meter?: StreamMeter | undefined;
  /** Told of errors that are not the asker's fault. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export function createStreams({ log, limits }: StreamsOptions): Streams {
  const readers = new Set<PlainReader>();
  let isClosed = false;
  return {
    get size() {
      return readers.size;
    },
    async open(sessionId, request) {
      if (isClosed) throw new LoomError("shutting_down", "the server is about to stop");
      const stop = new AbortController();
      request.signal?.addEventListener("abort", () => stop.abort(), { once: true });
      const place = readPlace(request);
      const run = request.run === undefined ? undefined : await untilRun(log, sessionId, request.run, stop.signal);
      const isPlaced = place.cursor !== undefined || place.after !== undefined;
      const opened = await openPlace(log, sessionId, {
        ...place,
        ...(run === undefined || isPlaced ? {} : { after: run.firstId - 1 }),
        follow: request.follow,
        maxFrameBytes: limits.maxFrameBytes,
        signal: stop.signal,
        ...(request.followSession === true ? { encoderOptions: { follow: true } } : {}),
      });
      if (opened === undefined) return undefined;
      const reader = new PlainReader(log, opened, sessionId, request, stop);
      readers.add(reader);
      reader.onEnd = () => readers.delete(reader);
      return reader;
    },
    async close() {
      isClosed = true;
      for (const reader of readers) reader.stop("closing");
    },
  };
}

async function untilRun(log: Log, sessionId: string, runId: string, signal: AbortSignal) {
  while (!signal.aborted) {
    const run = await log.getRun(sessionId, runId);
    if (run !== undefined) return run;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return undefined;
}

class PlainReader implements Reader {
  readonly session: OpenedStream["session"];
  readonly cursor: string;
  onEnd: () => void = () => undefined;
  readonly #log: Log;
  readonly #opened: OpenedStream;
  readonly #sessionId: string;
  readonly #request: ReadRequest;
  readonly #stop: AbortController;
  #last: string;
  #why: ReaderEnd["reason"] = "left";
  #wake: () => void = () => undefined;

  constructor(log: Log, opened: OpenedStream, sessionId: string, request: ReadRequest, stop: AbortController) {
    this.#log = log;
    this.#opened = opened;
    this.#sessionId = sessionId;
    this.#request = request;
    this.#stop = stop;
    this.session = opened.session;
    this.cursor = this.#last = opened.cursor;
  }

  start(sink: Sink): void {
    void this.#pump(sink).then((end) => {
      this.onEnd();
      void this.#opened.close();
      sink.end(end);
    });
  }

  resume(): void {
    this.#wake();
  }

  close(): void {
    this.stop("left");
  }

  stop(why: ReaderEnd["reason"]): void {
    this.#why = why;
    this.#stop.abort();
    this.#wake();
  }

  async #pump(sink: Sink): Promise<ReaderEnd> {
    const { dialect = "loom", run, limit = Number.POSITIVE_INFINITY } = this.#request;
    let left = limit;
    try {
      for await (const batch of this.#opened.batches) {
        if (this.#stop.signal.aborted) break;
        const frames: readonly StreamFrame[] = batch.slice(0, left);
        left -= frames.length;
        const chunk = new Chunk({ session: this.#sessionId, dialect: dialect as never }, frames, true);
        this.#last = chunk.cursor;
        const hasRoom = sink.write(chunk);
        const info = run === undefined ? undefined : await this.#log.getRun(this.#sessionId, run);
        if (left <= 0 || (info !== undefined && info.status !== "live")) return { reason: "end", cursor: this.#last };
        if (!hasRoom) await new Promise<void>((resolve) => (this.#wake = resolve));
      }
      return { reason: this.#stop.signal.aborted ? this.#why : "end", cursor: this.#last };
    } catch (error) {
      return { reason: "error", cursor: this.#last, error };
    }
  }
}
