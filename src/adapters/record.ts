/**
 * Records one run of another framework in a session: every event is durable before anyone can see it, and any process
 * can follow, resume and replay the run. It goes on when its readers leave.
 */
import { Agent } from "../agents/agent.ts";
import type { AgentCall, AgentCallOptions } from "../agents/agent-call.ts";
import type { AgentRun } from "../agents/agent-run.ts";
import type { AgentStrategy } from "../agents/agent-strategy.ts";
import type { RunEnd } from "../engine/index.ts";
import type { FinishOptions } from "../engine/run-contract.ts";
import { showWarning } from "../engine/error-reporter.ts";
import type { Log } from "../log/index.ts";
import { LoomError } from "../protocol/index.ts";
import { describeValue } from "../protocol/fault.ts";
import { readOptions } from "../protocol/read-options.ts";
import { createRunResponse, type RunResponseOptions } from "./create-run-response.ts";
import { assertSource, type ForeignSource } from "./source.ts";
import { recordSource, type ForeignSourceOptions, SOURCE_OPTIONS } from "./source-recorder.ts";

/** The message that a recorded run answers. Only `sessionId` and `message` are required. */
export interface RecordRequest extends Omit<AgentCallOptions, "sessionId" | "onInterruption">, ForeignSourceOptions {
  readonly sessionId: string;
  /** The message of the user. */
  readonly message: string;
  /** Name of the agent in the log. Default: the framework of the source. */
  readonly agent?: string;
  /**
   * Keeps the process alive until a promise settles, as serverless platforms offer it. Without it, such a platform may
   * stop the run when its response ends; the run then ends as `interrupted`. Default: that of the platform, where it can
   * be found.
   */
  readonly waitUntil?: (work: Promise<unknown>) => void;
  /**
   * Called with errors of the source whose text users must not see. The run has `errorId` instead. Default: they are
   * shown as process warnings.
   */
  readonly onError?: (error: unknown, errorId: string) => void;
}

/** A run that is being recorded. */
export interface ForeignRecording {
  readonly sessionId: string;
  readonly runId: string;
  /** Resolves when the end of the run is durable. */
  readonly ended: Promise<RunEnd>;
  /** Cancels the run and aborts its source. */
  cancel(reason?: string): void;
  /** Streams the run from its start to its end. A reader that leaves does not cancel the run. */
  toResponse(options?: RunResponseOptions): Response;
}

const recorders = new WeakMap<Log, Recorder>();

/**
 * Records a source as a run of a session. Resolves when the run has started.
 *
 * While another run of the session is live in this process, the new one waits for its turn, unless `whenBusy` says
 * otherwise. Rejects with `lease_held`, and does not start the source, if another process holds the session: try again
 * when its run has ended. If the process dies, the run ends as `interrupted`, because its source is gone, also when it
 * waits for an approval.
 *
 * ```ts
 * const run = await record(log, { sessionId: "chat-7", message }, fromAISDK(streamText({ model, messages })));
 * return run.toResponse({ dialect: "loom" });
 * ```
 */
export async function record(log: Log, request: RecordRequest, source: ForeignSource): Promise<ForeignRecording> {
  if (typeof (Object(log) as Partial<Log>).acquire !== "function")
    throw new LoomError(
      "invalid_arguments",
      `\`record\` needs a log, such as \`await openSqliteLog(file)\`, not ${describeValue(log)}`,
    );
  let recorder = recorders.get(log);
  if (recorder === undefined) recorders.set(log, (recorder = new Recorder(log)));
  return recorder.record(request, source);
}

interface Expected {
  readonly source: ForeignSource;
  readonly options: ForeignSourceOptions;
  readonly onError: RecordRequest["onError"];
}

/** Records the runs of one log. */
class Recorder {
  readonly #log: Log;
  readonly #agent: Agent;
  /** By request ID. */
  readonly #expected = new Map<string, Expected>();
  /** Who receives the errors of sources. */
  readonly #onErrors = new WeakMap<object, NonNullable<RecordRequest["onError"]>>();

  constructor(log: Log) {
    this.#log = log;
    const answer = (run: AgentRun): Promise<FinishOptions> => this.#answer(run);
    const onError: RecordRequest["onError"] = (error, errorId) => {
      const handler = this.#onErrors.get(Object(error) as object);
      if (handler === undefined) showWarning(error);
      else handler(error, errorId);
    };
    // A source may be running already, and its output cannot wait for another process.
    const options = { log, approve: "wait", metrics: false, sessionWaitMs: 0, onError } as const;
    this.#agent = new Agent(options, () => createStrategy(answer));
  }

  async record(
    { message, agent, waitUntil, onError, ...request }: RecordRequest,
    source: ForeignSource,
  ): Promise<ForeignRecording> {
    assertSource(source);
    const { maxIdleMs, approvalMs, ...options } = request;
    const limits = readOptions(SOURCE_OPTIONS, { maxIdleMs, approvalMs });
    const requestId = options.requestId ?? crypto.randomUUID();
    if (this.#expected.has(requestId))
      throw new LoomError("run_exists", `A run with the request ID "${requestId}" is being recorded`);
    this.#expected.set(requestId, { source, options: limits, onError });
    try {
      const call = await this.#agent.begin(
        message,
        { ...options, requestId, onInterruption: "fail" },
        agent ?? source.framework,
      );
      (waitUntil ?? findWaitUntil())?.(call.finished.catch(() => undefined));
      return this.#describe(call);
    } finally {
      this.#expected.delete(requestId);
    }
  }

  #describe(call: AgentCall): ForeignRecording {
    const { sessionId, runId } = call.ids;
    const log = this.#log;
    const firstId = call.firstEventId;
    return {
      sessionId,
      runId,
      ended: call.finished,
      cancel: (reason = "cancelled") => call.stop(new LoomError("cancelled", reason)),
      toResponse: (options = {}) => createRunResponse(log, sessionId, { runId, firstId }, options),
    };
  }

  async #answer(run: AgentRun): Promise<FinishOptions> {
    const expected = this.#expected.get(run.requestId ?? "");
    if (expected === undefined) throw new LoomError("interrupted", "The source of this run is gone");
    const { source, options, onError } = expected;
    try {
      return await recordSource(run, source, options);
    } catch (error) {
      if (onError !== undefined && typeof error === "object" && error !== null) this.#onErrors.set(error, onError);
      throw error;
    }
  }
}

/** Next.js and other frameworks pass the platform's `waitUntil` on through this global. */
function findWaitUntil(): RecordRequest["waitUntil"] {
  const platform = (globalThis as { readonly [name: symbol]: unknown })[Symbol.for("@next/request-context")];
  const vercel = (globalThis as { readonly [name: symbol]: unknown })[Symbol.for("@vercel/request-context")];
  for (const context of [platform, vercel]) {
    const { get } = Object(context) as { get?: () => unknown };
    const { waitUntil } = Object(get?.call(context)) as Pick<RecordRequest, "waitUntil">;
    if (typeof waitUntil === "function") return waitUntil;
  }
  return undefined;
}

function createStrategy(answer: (run: AgentRun) => Promise<FinishOptions>): AgentStrategy {
  return {
    kind: "foreign",
    isAdaptive: false,
    isRepeatable: false,
    toolNames: [],
    answer: (_log, run) => answer(run),
    resume: (_log, { run }) => answer(run),
    canResume: () => false,
    canRestart: () => false,
    isIdempotent: () => false,
    forget: () => undefined,
  };
}
