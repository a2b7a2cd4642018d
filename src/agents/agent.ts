/**
 * An agent: executes runs in sessions of any log, serves the calls of its program and its observers, and continues runs
 * whose process died. Its strategy answers the messages.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import {
  type DeadRun,
  openSession,
  type Run,
  type RunEnd,
  type RunRequest,
  type Session,
  type SessionOptions,
} from "../engine/index.ts";
import type { FinishOptions } from "../engine/run-contract.ts";
import { ErrorReporter } from "../engine/error-reporter.ts";
import { describeFailure } from "../engine/run-executor.ts";
import type { Log } from "../log/index.ts";
import { waitLonger } from "../log/wait-longer.ts";
import {
  type CallbackObserver,
  type CallbackOptions,
  createCallbackObserver,
  DEFAULT_FLUSH_MS,
} from "../observe/callbacks/callback-observer.ts";
import { MetricsCollector } from "../observe/metrics/metrics-collector.ts";
import { Observation } from "../observe/observation.ts";
import { waitFor } from "../observe/wait-for.ts";
import { ADAPTIVE } from "../protocol/agent-kinds.ts";
import { type JsonObject, LoomError } from "../protocol/index.ts";
import { limitTimer } from "../protocol/limit-timer.ts";
import { MILLISECONDS_OPTION, readOptions } from "../protocol/read-options.ts";
import { isStrategyAgent, type StrategyAgent, type StrategySettings } from "../protocol/strategy-settings.ts";
import type { OutputOf, StandardSchema } from "../tools/standard-schema.ts";
import type { Tool } from "../tools/tool.ts";
import type { AgentKindName } from "./agent-kind.ts";
import type { AgentLifeOptions, AgentOptions } from "./agent-options.ts";
import { AgentSessions } from "./agent-sessions.ts";
import type { AgentStrategy } from "./agent-strategy.ts";
import type { AgentBlobs } from "./attachments.ts";
import type { AgentCall, AgentCallOptions, ExecuteRunOptions } from "./agent-call.ts";
import type { AgentInput } from "./agent-input.ts";
import { AgentCalls, type CallManner } from "./agent-calls.ts";
import { type AgentEvent, toAgentEvent } from "./agent-event.ts";
import { type AgentToolOptions, createAgentTool } from "./agent-tool.ts";
import { checkAgentOptions } from "./check-agent-options.ts";
import { inheritRules } from "./parent-call.ts";
import { ModelStrategy } from "./model-strategy.ts";
import { type OutputEvent, OutputProjection } from "./output-event.ts";
import type { RunResult } from "./run-result.ts";
import { type AnswerStream, type EventStream, type StartCall, streamAnswer, streamRun } from "./stream-answer.ts";

export type { AgentOptions };

/** Options of `Agent.answer`. */
export interface AnswerRequest extends Omit<RunRequest, "message"> {
  /** Aborting it cancels the run. */
  readonly signal?: AbortSignal;
}

/** How an agent continues the runs of a dead process. */
type RecoveryHandlers = Pick<SessionOptions, "maxAttempts"> &
  Required<
    Pick<
      SessionOptions,
      | "agent"
      | "canResume"
      | "resume"
      | "restart"
      | "canRestart"
      | "isIdempotent"
      | "onInterruption"
      | "onCommit"
      | "onEnd"
    >
  >;

const CALLBACK_WAIT_MS = 1000;
const SESSION_WAIT_MS = 600_000;

/**
 * Creates an agent that answers messages with a model and tools.
 *
 * The model is loaded by the first run. Close the agent with `close`, or declare it with `await using`. Throws
 * `invalid_arguments`, `tool_invalid` or `unknown_model` if an option is wrong.
 *
 * ```ts
 * await using helper = agent({ model: "openai/gpt-5", tools: createBuiltinTools() });
 * const { reply } = await helper.run("What is 17 * 23?");
 * for await (const event of helper.stream("Show the steps.")) console.log(event);
 * ```
 */
export function agent(options: AgentOptions): Agent {
  checkAgentOptions(options);
  return new Agent(options, (reporter) => new ModelStrategy(options, reporter));
}

/** An agent, as created by `agent`. */
export class Agent {
  readonly #options: AgentLifeOptions;
  readonly #strategy: AgentStrategy;
  readonly #reporter: ErrorReporter;
  readonly #observation: Observation;
  readonly #metrics: MetricsCollector;
  readonly #callbacks: CallbackObserver | undefined;
  readonly #calls: AgentCalls;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(options: AgentLifeOptions, createStrategy: (reporter: ErrorReporter) => AgentStrategy) {
    this.#options = options;
    this.#reporter = new ErrorReporter(options.onError);
    this.#strategy = createStrategy(this.#reporter);
    const { metrics, callbacks = [], observers = [] } = options;
    this.#metrics = metrics || new MetricsCollector();
    if (callbacks.length > 0) this.#callbacks = createCallbackObserver(callbacks, this.#createCallbackOptions());
    const all = [
      ...(metrics === false ? [] : [this.#metrics]),
      ...(this.#callbacks === undefined ? [] : [this.#callbacks]),
      ...observers,
    ];
    this.#observation = new Observation(all, { onError: (error) => void this.#reporter.report(error) });
    this.#calls = this.#createCalls();
  }

  /** How the agent works: `react`, `tot` or `got`; `foreign` for an agent of another framework. */
  get kind(): AgentKindName {
    return this.#strategy.kind;
  }

  /** True for a `got` agent whose tasks may expand into subgraphs. */
  get isAdaptive(): boolean {
    return this.#strategy.isAdaptive;
  }

  /** The agent of its runs, in `run_start`. */
  get #runName(): string {
    return this.isAdaptive ? ADAPTIVE : this.kind;
  }

  /**
   * The strategy settings in its options: which agent they belong to, and their values. Undefined if its kind has none.
   *
   * @internal
   */
  get strategy(): { readonly agent: StrategyAgent; readonly own: StrategySettings } | undefined {
    const { ownSettings: own } = this.#strategy;
    const agent = this.#runName;
    return own !== undefined && isStrategyAgent(agent) ? { agent, own } : undefined;
  }

  /** Whether calls and runs of this agent can ask for structured output. */
  get hasOutput(): boolean {
    return this.#strategy.hasOutput ?? false;
  }

  /** Names of the tools this agent may call. */
  get toolNames(): readonly string[] {
    return this.#strategy.toolNames;
  }

  /** Metrics of all runs of this agent. Empty if the option `metrics` is false. */
  get metrics(): MetricsCollector {
    return this.#metrics;
  }

  /**
   * Answers a message and resolves to the complete result.
   *
   * Rejects with the run's error code if the run fails, and with `cancelled` if `signal` aborts it. When the promise
   * settles, the run has ended, the session is released, and callbacks have received all events of the run, unless that
   * takes longer than `callbackWaitMs`.
   *
   * With `output`, the result has a value of that schema. Rejects with `model_output_invalid` if the model does not
   * return one.
   *
   * ```ts
   * const { output } = await helper.run("Which city is in the text?", { output: z.object({ city: z.string() }) });
   * ```
   */
  run<Schema extends StandardSchema>(
    message: AgentInput,
    options: AgentCallOptions & { readonly output: Schema },
  ): Promise<RunResult & { readonly output: OutputOf<Schema> }>;
  run(message: AgentInput, options?: AgentCallOptions): Promise<RunResult>;
  async run(message: AgentInput, options: AgentCallOptions = {}): Promise<RunResult> {
    const call = this.#calls.create(message, { source: "execute" }, options);
    await call.begin();
    return call.toResult();
  }

  /**
   * Answers a message and yields StreamEvents. The last one is `agent_finish`, with the status of the run.
   *
   * The run starts when the first event is requested. Leaving the loop early cancels it. If the run fails, throws its
   * error after `error` and `agent_finish`. Also throws if the run cannot start or if its end cannot be read.
   */
  stream(message: AgentInput, options: AgentCallOptions = {}): AnswerStream {
    return streamAnswer(this.#prepareCall(message, { source: "stream" }, options));
  }

  /** The same as `stream`, under the name that specification 002 uses. */
  astream(message: AgentInput, options: AgentCallOptions = {}): AnswerStream {
    return this.stream(message, options);
  }

  /**
   * Answers a message and yields all events of the run, typed by `type`: text, reasoning, arguments of tool calls while
   * the model writes them, tool output, nodes, thoughts, usage, and the end. The last one is `reply`, or `run_end` if the
   * run did not complete. A loop over them is enough to build a user interface.
   *
   * An approval request (`tool_approval`) has the methods `approve` and `reject`. The run waits until one of them is
   * called, also after the loop has gone on, unless `approve` was passed to the agent or to this call. The start of a call
   * that the client carries out (`tool_start` with `executor: "client"`) has the method `answer`.
   *
   * Starts, ends and throws like `stream`: leaving the loop cancels the run. With `output`, also yields `partial_output`
   * while the model writes the value, and `output` with the validated value.
   *
   * ```ts
   * for await (const event of helper.events("Delete the old reports")) {
   *   if (event.type === "message_chunk") process.stdout.write(event.content);
   *   if (event.type === "tool_approval") await event.approve();
   * }
   * ```
   */
  events<Schema extends StandardSchema>(
    message: AgentInput,
    options: AgentCallOptions & { readonly output: Schema },
  ): EventStream<AgentEvent | OutputEvent<OutputOf<Schema>>>;
  events(message: AgentInput, options?: AgentCallOptions): EventStream<AgentEvent>;
  events(message: AgentInput, options: AgentCallOptions = {}): EventStream<AgentEvent | OutputEvent<unknown>> {
    const begin = this.#prepareCall(message, { source: "stream", isAnswerable: true }, options);
    return streamRun<AgentEvent | OutputEvent<unknown>>(begin, (call) => {
      const output = call.output === undefined ? undefined : new OutputProjection(call.output);
      return (record) => {
        const event = toAgentEvent(record, call);
        const own = output?.project(record) ?? [];
        return event.type === "run_end" ? [...own, event] : [event, ...own];
      };
    });
  }

  /**
   * Creates a tool with which another agent can give this agent a task. The result of a call is the reply; with `output`,
   * also the value.
   *
   * The agent works inside the run of its caller. Its node runs, tool calls, approvals and tokens are part of that run,
   * whose cancel, tool rules and `approve` apply to it. Its answer is streamed as output of the call. It has its own
   * model, settings, tools and limits, and no history: it sees only the message that the model of its caller writes.
   *
   * The observers, callbacks and metrics of the caller receive everything. Those of this agent, and its `approve`,
   * receive nothing; its `onError` does. `close` refuses further calls and does not cancel those that are running.
   *
   * If the process dies, a call is repeated only if all tools of this agent are idempotent. Otherwise it ends as
   * `interrupted`, like that of any other tool.
   *
   * ```ts
   * const researcher = agent({ model, tools: [search] });
   * const writer = agent({
   *   model,
   *   tools: [researcher.asTool({ name: "research", description: "Finds facts about a topic." })],
   * });
   * ```
   *
   * Throws `tool_invalid` or `invalid_arguments` if an option is wrong.
   */
  asTool(options: AgentToolOptions): Tool {
    const assertOpen = (): void => this.#assertOpen({ tool: options.name });
    return createAgentTool({ strategy: this.#strategy, reporter: this.#reporter, assertOpen }, options);
  }

  /**
   * Creates a call when its first event is requested. That may happen in another async context; the run belongs to the
   * context of this method's caller.
   */
  #prepareCall(message: AgentInput, how: CallManner, options: AgentCallOptions): StartCall {
    const inCallersContext = AsyncLocalStorage.snapshot();
    return (begin) => inCallersContext(() => begin(this.#calls.create(message, how, options)));
  }

  /** Starts to answer a message. Resolves when the run has started. @internal */
  async begin(message: string, options: AgentCallOptions, agent?: string): Promise<AgentCall> {
    const call = this.#calls.create(message, { source: "stream", agent }, options);
    await call.begin();
    return call;
  }

  /** Number of events that callbacks did not receive because they were too slow. */
  get callbacksDropped(): number {
    return this.#callbacks?.dropped ?? 0;
  }

  /**
   * Waits until callbacks have received all events so far. Resolves to false if `timeoutMs` (default: 5,000) passes
   * first.
   */
  async flush(timeoutMs?: number): Promise<boolean> {
    readOptions({ timeoutMs: MILLISECONDS_OPTION }, { timeoutMs });
    const time = limitTimer(timeoutMs ?? DEFAULT_FLUSH_MS);
    const flushed = this.#observation.idle().then(() => this.#callbacks?.flush(Number.POSITIVE_INFINITY));
    return waitFor(flushed, time);
  }

  /**
   * Cancels all calls of `run` and `stream`, delivers pending events to callbacks, and refuses new calls. `flushMs`
   * limits the delivery, in milliseconds. Default: 5,000.
   */
  async close(options: { readonly flushMs?: number } = {}): Promise<void> {
    const { flushMs } = readOptions({ flushMs: MILLISECONDS_OPTION }, options);
    // A callback that awaits `close` would otherwise wait for itself.
    if (this.#closing !== undefined && this.#callbacks?.isInsideCallback === true) return;
    await (this.#closing ??= this.#close(flushMs));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(flushMs: number | undefined): Promise<void> {
    await this.#calls.close();
    await this.flush(flushMs);
    this.#callbacks?.close();
  }

  /** Opens a session in which this agent answers messages from any client and resumes dead runs. */
  async openSession(log: Log, sessionId: string, options: SessionOptions = {}): Promise<Session> {
    this.#assertOpen({ session_id: sessionId });
    const own = this.sessionOptions(log, { onError: options.onError });
    return openSession(log, sessionId, {
      ...own,
      ...options,
      onCommit: (entries) => callBoth(own.onCommit, options.onCommit, entries),
      onEnd: (ended) => callBoth(own.onEnd, options.onEnd, ended),
    });
  }

  /**
   * Session options that let this agent execute the runs of a session. Also for `recoverOrphans`. If the agent has no
   * `onError`, it reports errors to the given one from now on.
   */
  sessionOptions(
    log: Log,
    {
      blobs,
      onError,
    }: Pick<ExecuteRunOptions, "blobs"> & { readonly onError?: AgentLifeOptions["onError"] | undefined } = {},
  ): RecoveryHandlers & Required<Pick<SessionOptions, "onRun">> {
    this.#reporter.adopt(onError);
    return {
      ...this.#createRecoveryOptions(log, blobs),
      onRun: async (run) => void (await this.executeRun(log, run, { blobs })),
    };
  }

  /**
   * Session options for calls of this process. There is no `onRun`: messages from other clients stay in the queue until
   * a process opens the session with `openSession`.
   */
  #createRecoveryOptions(log: Log, blobs?: AgentBlobs): RecoveryHandlers {
    const { onInterruption = "resume", maxAttempts } = this.#options;
    return {
      // A run that another agent starts in this session is observed by that agent.
      ...this.#observation.tap(log, { includeWatchedRuns: false }),
      agent: this.#runName,
      canResume: (dead) => this.#strategy.canResume(dead),
      resume: (dead) => this.#resume(log, dead, blobs),
      restart: async (run) => void (await this.executeRun(log, run, { blobs })),
      canRestart: (run) => this.#strategy.canRestart(run),
      onInterruption,
      ...(maxAttempts === undefined ? {} : { maxAttempts }),
      isIdempotent: (name) => this.#strategy.isIdempotent(name),
    };
  }

  /**
   * Starts a run in an open session and executes it. Resolves when the run has started; `run.ended` resolves when it
   * has ended.
   */
  async answer(session: Session, message: string, { signal, ...request }: AnswerRequest = {}): Promise<Run> {
    const { sessionId } = session;
    const { runId = randomUUID() } = request;
    this.#assertOpen({ session_id: sessionId });
    signal?.throwIfAborted();
    this.#observation.expectRun({ sessionId, runId });
    const stopWatching = this.#observation.watchRun(session, runId);
    let run: Run;
    try {
      run = await session.startRun({
        agent: this.#runName,
        ...request,
        ...inheritRules(request.toolRules),
        runId,
        message,
      });
    } catch (error) {
      stopWatching();
      throw error;
    }
    const cancel = (): void => void run.cancel("The caller aborted the run").catch(() => undefined);
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted === true) cancel();
    void this.executeRun(session.log, run)
      .catch(() => undefined)
      .finally(() => {
        signal?.removeEventListener("abort", cancel);
        stopWatching();
      });
    return run;
  }

  /** Executes a started run until it ends. A failed run resolves too, with its status. */
  async executeRun(log: Log, run: Run, { onFailure, ...options }: ExecuteRunOptions = {}): Promise<RunEnd> {
    // A session that this agent did not open has not announced the run to the observers.
    const { sessionId, runId } = run;
    const watched = { log, sessionId, onCommit: run.onCommit.bind(run) };
    const stopWatching = this.#observation.watchRun(watched, runId, { isBegun: true });
    try {
      const answer = () => this.#strategy.answer(log, run, options);
      return await this.#drive(run, () => waitLonger(log, answer), onFailure);
    } finally {
      stopWatching();
    }
  }

  async #resume(log: Log, dead: DeadRun, blobs?: AgentBlobs): Promise<void> {
    const { run } = dead;
    const { sessionId, runId } = run;
    // In a session that agents share, no other agent has announced the run to these observers.
    const watched = { log, sessionId, onCommit: run.onCommit.bind(run) };
    const stopWatching = this.#observation.watchRun(watched, runId);
    try {
      await this.#drive(run, () => this.#strategy.resume(log, dead, { blobs }));
    } finally {
      stopWatching();
    }
  }

  async #drive(
    run: Run,
    work: () => Promise<FinishOptions>,
    onFailure?: ExecuteRunOptions["onFailure"],
  ): Promise<RunEnd> {
    try {
      return await run.finish(await work());
    } catch (error) {
      if (run.status !== "live") return run.ended;
      onFailure?.(error);
      return run.fail(describeFailure(error, this.#reporter));
    }
  }

  #createCalls(): AgentCalls {
    const { log, memory, approve, maxCalls, maxContextBytes, onError } = this.#options;
    const { callbackWaitMs = CALLBACK_WAIT_MS, sessionWaitMs = SESSION_WAIT_MS } = this.#options;
    const sessions = new AgentSessions({
      log,
      memory,
      open: (into, sessionId) =>
        openSession(into, sessionId, {
          ...this.#createRecoveryOptions(into),
          ...(onError === undefined ? {} : { onError }),
        }),
      onDiscarded: (sessionId) => this.#strategy.forget(sessionId),
    });
    const host = {
      agent: this.#runName,
      files: this.#strategy.files,
      acquire: (sessionId: string, isNamed: boolean) => sessions.acquire(sessionId, isNamed),
      expectRun: (run: { readonly sessionId: string; readonly runId: string }) => this.#observation.expectRun(run),
      executeRun: (into: Log, run: Run, runOptions: ExecuteRunOptions) => this.executeRun(into, run, runOptions),
      report: (error: unknown) => this.#reporter.report(error),
      sessionWaitMs,
      reportOrWarn: (error: unknown) => this.#reporter.reportOrWarn(error),
      flushCallbacks: async () => this.#callbacks?.flush(limitTimer(callbackWaitMs)),
    };
    const { hasOutput } = this;
    return new AgentCalls(host, { hasLog: log !== undefined, hasOutput, approve, maxCalls, maxContextBytes });
  }

  #assertOpen(details: JsonObject): void {
    if (this.#closing !== undefined) throw new LoomError("session_closed", "The agent is closed", details);
  }

  /** Callback errors go to `onError`. Without it, they are shown as process warnings. */
  #createCallbackOptions(): CallbackOptions {
    const { onError, callbackOptions = {} } = this.#options;
    if (onError === undefined) return callbackOptions;
    return { onError: (error) => void this.#reporter.report(error), ...callbackOptions };
  }
}

/** Calls the agent's handler, then the caller's. The session reports what the caller's handler throws. */
function callBoth<T>(own: (what: T) => void, callers: ((what: T) => unknown) | undefined, what: T): unknown {
  own(what);
  return callers?.(what);
}
