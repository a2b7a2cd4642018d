/**
 * A foreign agent's stream becomes runs of a session: read, checked and written as it comes, so that whoever follows the
 * session sees it live. It knows no HTTP.
 *
 * Invariants:
 * - A frame that breaks a must of its dialect is not written, nor anything behind it; what came before stays.
 * - A body that only ends too early breaks nothing, in whatever dialect: what it leaves open is told and ends as cut.
 * - A body that says nothing leaves no session.
 * - Whatever happens, no run is left live, and nobody holds the session afterwards.
 * - No more is read than the log has taken, but for its backlog.
 */
import { createStreamCheck, type Dialect, issueOfFraming, type StreamCheck } from "../../dialects/index.ts";
import { type ForeignRun, ForeignSession } from "../../engine/index.ts";
import type { FrameOutcome, Framing } from "../../framing/index.ts";
import type { Log, SessionInfo } from "../../log/index.ts";
import { unknownSession } from "../../log/rules.ts";
import { type EventRecord, isLoomError, type Issue, LoomError } from "../../protocol/index.ts";
import { readBody, streamCut } from "../http/read-body.ts";
import { tellError } from "../tell-error.ts";
import { readForeignFrames } from "./read-foreign-frames.ts";

export interface IngestOptions {
  readonly log: Log;
  readonly sessionId: string;
  /** Makes the session for whoever sends; throws where it is not theirs. Where it is absent, it is nobody's. */
  readonly make?: () => Promise<SessionInfo>;
  readonly body: ReadableStream<Uint8Array>;
  readonly dialect?: Dialect | undefined;
  readonly framing?: Framing | undefined;
  readonly whenTaken?: "rename" | "refuse" | undefined;
  /** Who sends; what the stream says of that where it is absent. */
  readonly actor?: string | undefined;
  readonly maxBytes: number;
  readonly maxFrameBytes: number;
  readonly idleMs: number;
  /** How long a session is waited for that somebody is about to let go of. */
  readonly waitMs?: number;
  /** The sender is gone, or this process is about to be: its reason is what the runs end with. */
  readonly signal: AbortSignal;
  readonly report?: (error: unknown) => string;
}

export interface IngestWarning {
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}

export interface Ingested {
  readonly dialect: Dialect;
  readonly frames: number;
  readonly runs: readonly ForeignRun[];
  /** The first of them. */
  readonly warnings: readonly IngestWarning[];
  readonly warningCount: number;
}

const MAX_WARNINGS = 100;

/** Resolves when all is durable; rejects with what stopped it, `ingest_invalid` where the stream was wrong. */
export async function ingestStream(options: IngestOptions): Promise<Ingested> {
  const { body, maxBytes, idleMs, maxFrameBytes, dialect, framing } = options;
  const stop = new AbortController();
  const intake = new Intake(options, (reason) => stop.abort(reason));
  const source = readBody(body, { maxBytes, idleMs }, AbortSignal.any([options.signal, stop.signal]));
  try {
    for await (const batch of readForeignFrames(source, { dialect, framing, maxFrameBytes }))
      for (const frame of batch.frames) await intake.take(frame, batch.dialect);
    return await intake.finish();
  } catch (thrown) {
    // The sender who is gone has cut the stream; so has the one whose request was aborted.
    const error = isLoomError(thrown) ? thrown : options.signal.aborted ? streamCut(thrown) : thrown;
    throw await intake.fail(error);
  } finally {
    await intake.close();
  }
}

class Intake {
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
    if (!frame.ok && frame.reason === "unfinished_event") return this.#warn(issueOfFraming(frame.reason, frame.detail));
    const { issues, records } = frame.ok
      ? this.#check.check(frame.text)
      : { issues: [issueOfFraming(frame.reason, frame.detail)], records: [] };
    for (const issue of issues) this.#weigh(issue);
    for (const record of records) await this.#write(record);
    this.#frames++;
  }

  async #write(record: EventRecord): Promise<void> {
    const session = (this.#session ??= await this.#open());
    try {
      await session.take(record);
    } catch (error) {
      // What the protocol allows and no log takes: a name too long, an event too large.
      throw isLoomError(error, "invalid_event", "invalid_name", "event_too_large", "batch_too_large")
        ? this.#refuse(error.code, error.message)
        : error;
    }
  }

  /** Not before there is something to write: a body that is refused whole leaves no session behind. */
  async #open(): Promise<ForeignSession> {
    const { log, sessionId, whenTaken, actor, report, waitMs = 0, signal, make } = this.#options;
    const made = await make?.();
    const session = await ForeignSession.open(log, sessionId, {
      waitMs,
      signal,
      ...(whenTaken === undefined ? {} : { whenTaken }),
      ...(actor === undefined ? {} : { actor }),
      ...(report === undefined ? {} : { report }),
    });
    // Deleted in between, it may have become another's: what is held then is not what was asked for.
    if (made !== undefined && (await log.getSession(sessionId))?.incarnation !== made.incarnation) {
      await session.close();
      throw unknownSession(sessionId);
    }
    session.signal.addEventListener("abort", () => this.#stop(session.signal.reason), { once: true });
    return session;
  }

  #weigh(issue: Issue): void {
    if (issue.level === "error") throw this.#refuse(issue.rule, issue.message);
    this.#warn(issue);
  }

  #warn({ rule, message }: Issue): void {
    this.#warningCount++;
    if (this.#warnings.length < MAX_WARNINGS) this.#warnings.push({ line: this.#line, rule, message });
  }

  #refuse(rule: string, message: string): LoomError {
    const details = { line: this.#line, rule, accepted: this.#frames };
    return new LoomError("ingest_invalid", `line ${this.#line}: ${rule}: ${message}`, details);
  }

  async finish(): Promise<Ingested> {
    // Whatever its frames are: none of them says anything that could be kept.
    if (this.#dialect === undefined || this.#check === undefined || this.#session === undefined)
      throw this.#refuse("record-missing", "the body holds no record");
    // How a dialect weighs a missing end is no matter here: the run says itself that it was cut.
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

  /** Ends what is live; the error to tell of. */
  async fail(error: unknown): Promise<unknown> {
    try {
      await this.#session?.end(describe(error));
    } catch (cause) {
      // What could not be written is ended by whoever opens the session next.
      this.#options.report?.(cause);
    }
    return error;
  }

  async close(): Promise<void> {
    await this.#session?.close();
  }
}

function describe(error: unknown): { readonly message: string; readonly code: string; readonly recoverable: boolean } {
  // The error itself is told to whoever sent the stream, and reported there.
  const { code, message } = tellError(() => undefined, error);
  return {
    message: isLoomError(error) ? message : "the stream could not be taken in",
    code,
    recoverable: !isLoomError(error, "ingest_invalid"),
  };
}
