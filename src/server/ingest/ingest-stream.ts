/**
 * Writes a foreign agent's stream into a session as runs. The stream is read, checked and written as it arrives, so
 * clients that follow the session see it live. It does not know HTTP.
 *
 * Invariants:
 *
 * - A frame that violates a required rule of its dialect is not written, and neither is anything after it. Everything
 *   before it stays.
 * - A body that ends early violates nothing, in any dialect: missing parts become warnings, and open runs end as
 *   `stream_cut`.
 * - A body without records creates no session.
 * - In every case no run is left live, and the lease on the session is released.
 * - At most the backlog of the log is read ahead of what the log has stored.
 */
import { createStreamCheck, type Dialect, type StreamCheck } from "../../dialects/index.ts";
import { framingIssue } from "../../dialects/check-stream.ts";
import { type ForeignRun, ForeignSession } from "../../engine/foreign-session.ts";
import type { FrameOutcome } from "../../framing/index.ts";
import type { Framing } from "../../framing/detect-framing.ts";
import type { Log, SessionInfo } from "../../log/index.ts";
import { createLoopYield } from "../../log/follow-records.ts";
import { unknownSession } from "../../log/rules.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { type EventRecord, isLoomError, type Issue, LoomError } from "../../protocol/index.ts";
import { readBody, streamCut } from "../guard/read-body.ts";
import { toPublicError } from "../guard/to-public-error.ts";
import { readForeignFrames } from "./read-foreign-frames.ts";

export interface IngestOptions {
  readonly log: Log;
  readonly sessionId: string;
  /**
   * Creates the session for the sender; throws if it belongs to another owner. Default: the session belongs to the
   * local owner.
   */
  readonly createSession?: () => Promise<SessionInfo>;
  readonly body: ReadableStream<Uint8Array>;
  readonly dialect?: Dialect | undefined;
  readonly framing?: Framing | undefined;
  readonly whenTaken?: "rename" | "refuse" | undefined;
  /** Recorded as the actor of the runs. Default: what the stream says. */
  readonly actor?: string | undefined;
  readonly maxBytes: number;
  readonly maxFrameBytes: number;
  readonly idleMs: number;
  /** Milliseconds to wait for another process to release the session. Default: 0. */
  readonly waitMs?: number;
  /** Aborted when the sender disconnects or the server shuts down. Its reason is recorded as the end of the runs. */
  readonly signal: AbortSignal;
  readonly report?: (error: unknown) => string;
}

export interface IngestWarning {
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}

export interface IngestSummary {
  readonly dialect: Dialect;
  readonly frames: number;
  readonly runs: readonly ForeignRun[];
  /** The first 100 warnings. */
  readonly warnings: readonly IngestWarning[];
  readonly warningCount: number;
}

const MAX_WARNINGS = 100;

/**
 * Resolves when the whole stream is durable. Rejects with the error that stopped it: `ingest_invalid` if the stream is
 * invalid.
 */
export async function ingestStream(options: IngestOptions): Promise<IngestSummary> {
  const { body, maxBytes, idleMs, maxFrameBytes, dialect, framing } = options;
  const stop = new AbortController();
  const intake = new IngestWriter(options, (reason) => stop.abort(reason));
  const source = readBody(body, { maxBytes, idleMs }, AbortSignal.any([options.signal, stop.signal]));
  try {
    // A sender that is faster than the checks must not hold the event loop.
    const yieldToLoop = createLoopYield();
    for await (const batch of readForeignFrames(source, { dialect, framing, maxFrameBytes }))
      for (const frame of batch.frames) {
        await intake.take(frame, batch.dialect);
        await yieldToLoop();
      }
    return await intake.finish();
  } catch (thrown) {
    // A sender that disconnects or aborts its request has cut the stream.
    const error = isLoomError(thrown) ? thrown : options.signal.aborted ? streamCut(thrown) : thrown;
    throw await intake.fail(error);
  } finally {
    await intake.close();
  }
}

class IngestWriter {
  readonly #options: IngestOptions;
  readonly #stop: (reason: unknown) => void;
  readonly #warnings: IngestWarning[] = [];
  #session: ForeignSession | undefined;
  #check: StreamCheck | undefined;
  #dialect: Dialect | undefined;
  #warningCount = 0;
  #frames = 0;
  #line = 1;

  constructor(options: IngestOptions, stop: (reason: unknown) => void) {
    this.#options = options;
    this.#stop = stop;
  }

  async take(frame: FrameOutcome, dialect: Dialect): Promise<void> {
    this.#dialect = dialect;
    this.#check ??= createStreamCheck(dialect);
    this.#line = frame.line;
    if (!frame.ok && frame.reason === "unfinished_event") return this.#warn(framingIssue(frame.reason, frame.detail));
    const { issues, records } = frame.ok
      ? this.#check.check(frame.text)
      : { issues: [framingIssue(frame.reason, frame.detail)], records: [] };
    for (const issue of issues) this.#handleIssue(issue);
    for (const record of records) await this.#write(record);
    this.#frames++;
  }

  async #write(record: EventRecord): Promise<void> {
    const session = (this.#session ??= await this.#open());
    try {
      await session.write(record);
    } catch (error) {
      // Valid in the protocol, but not accepted here: a name that is too long, an event that is too large, too many
      // open calls.
      throw isLoomError(error, "invalid_event", "invalid_name", "event_too_large", "batch_too_large", "too_many_open")
        ? this.#createError(error.code, error.message)
        : error;
    }
  }

  /** Opens the session with the first record, so that a body without valid records creates none. */
  async #open(): Promise<ForeignSession> {
    const { log, sessionId, whenTaken, actor, report, waitMs = 0, signal, createSession } = this.#options;
    const created = await createSession?.();
    const session = await ForeignSession.open(
      log,
      sessionId,
      dropUndefined({ waitMs, signal, whenTaken, actor, report }),
    );
    // If the session was deleted and created again in between, it may have another owner.
    if (created !== undefined && (await log.getSession(sessionId))?.incarnation !== created.incarnation) {
      await session.close();
      throw unknownSession(sessionId);
    }
    session.signal.addEventListener("abort", () => this.#stop(session.signal.reason), { once: true });
    return session;
  }

  #handleIssue(issue: Issue): void {
    if (issue.level === "error") throw this.#createError(issue.rule, issue.message);
    this.#warn(issue);
  }

  #warn({ rule, message }: Issue): void {
    this.#warningCount++;
    if (this.#warnings.length < MAX_WARNINGS) this.#warnings.push({ line: this.#line, rule, message });
  }

  #createError(rule: string, message: string): LoomError {
    const details = { line: this.#line, rule, accepted: this.#frames };
    return new LoomError("ingest_invalid", `Line ${this.#line}: ${rule}: ${message}`, details);
  }

  async finish(): Promise<IngestSummary> {
    // No frame contained a record.
    if (this.#dialect === undefined || this.#check === undefined || this.#session === undefined)
      throw this.#createError("record-missing", "the body has no records");
    // Missing ends are only warnings here, whatever their level in the dialect: the run itself ends as `stream_cut`.
    for (const issue of this.#check.end()) this.#warn(issue);
    await this.#session.end(describe(streamCut()));
    return {
      dialect: this.#dialect,
      frames: this.#frames,
      runs: this.#session.runs,
      warnings: this.#warnings,
      warningCount: this.#warningCount,
    };
  }

  /** Ends the live runs and returns the error. */
  async fail(error: unknown): Promise<unknown> {
    try {
      await this.#session?.end(describe(error));
    } catch (cause) {
      // The next process that opens the session ends the runs that could not be ended here.
      this.#options.report?.(cause);
    }
    return error;
  }

  async close(): Promise<void> {
    await this.#session?.close();
  }
}

function describe(error: unknown): { readonly message: string; readonly code: string; readonly recoverable: boolean } {
  // The request reports the error itself.
  const { code, message } = toPublicError(() => undefined, error);
  return {
    message: isLoomError(error) ? message : "the stream could not be stored",
    code,
    recoverable: !isLoomError(error, "ingest_invalid"),
  };
}
