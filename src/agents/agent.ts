/**
 * An agent: a model, its tools, and a way of going about a question. It carries out runs of any session of a log, and
 * goes on with those whose process died. It holds nothing of a session but what it has read of its history.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import type { Compressor } from "../context/compression/compressor.ts";
import { createCompressor } from "../context/compression/create-compressor.ts";
import {
  type DeadRun,
  describeFailure,
  ErrorReporter,
  type FinishOptions,
  openSession,
  type Run,
  type RunEnd,
  type RunRequest,
  type Session,
  type SessionOptions,
} from "../engine/index.ts";
import { resumeGraph, runGraph } from "../graph/index.ts";
import type { Log } from "../log/index.ts";
import type { LanguageModel, ModelChoice } from "../models/model.ts";
import { limitTimer } from "../models/call-watch.ts";
import { resolveModel } from "../models/resolve-model.ts";
import {
  type CallbackObserver,
  type CallbackOptions,
  createCallbackObserver,
  DEFAULT_FLUSH_MS,
} from "../observe/callbacks/callback-observer.ts";
import { MetricsCollector } from "../observe/metrics/metrics-collector.ts";
import { Observation } from "../observe/observation.ts";
import { waitFor } from "../observe/wait-for.ts";
import { type JsonObject, LoomError, type ToolRules } from "../protocol/index.ts";
import { limitToolbox } from "../tools/limit-toolbox.ts";
import { createToolbox, type Toolbox } from "../tools/toolbox.ts";
import { AGENT_KINDS, type AgentContext, type AgentKind, type AgentKindName } from "./agent-kind.ts";
import { type AgentOptions, checkAgentOptions, chooseModel, type CommonOptions } from "./agent-options.ts";
import { AgentSessions } from "./agent-sessions.ts";
import { type AgentBlobs, Attachments, bindSave } from "./attachments.ts";
import type { AskOptions, CarryOutOptions } from "./ask.ts";
import { Asks } from "./asks.ts";
import { isBlank, toPart } from "./compose-question.ts";
import { LONG_HISTORY } from "./conversation.ts";
import { Conversations } from "./conversations.ts";
import { createFit } from "./create-fit.ts";
import { createKind } from "./create-kind.ts";
import { inheritRules } from "./inherited-rules.ts";
import { flattenTools } from "./flatten-tools.ts";
import { readRetrievalOptions, type RetrievalOptions, retrieveContext } from "./retrieve-context.ts";
import type { RunResult } from "./run-outcome.ts";
import { type AnswerStream, streamAnswer } from "./stream-answer.ts";
import { asStaged } from "./think.ts";

export type { AgentOptions };

export interface AnswerRequest extends Omit<RunRequest, "message"> {
  /** Cancels the run. */
  readonly signal?: AbortSignal;
}

/** An answer is kept whole in one record, which may have 1 MiB. */
const MAX_OUTPUT_CHARACTERS = 900_000;

export function agent(options: AgentOptions): Agent {
  return new Agent(options);
}

export class Agent {
  readonly #kind: AgentKind;
  readonly #isAdaptive: boolean;
  readonly #options: CommonOptions;
  readonly #retrieval: RetrievalOptions | undefined;
  readonly #choice: ModelChoice;
  readonly #toolbox: Toolbox;
  readonly #reporter: ErrorReporter;
  readonly #observation: Observation;
  readonly #compressor: Compressor | undefined;
  readonly #conversations: Conversations;
  readonly #metrics: MetricsCollector;
  readonly #callbacks: CallbackObserver | undefined;
  readonly #asks: Asks;
  #model: Promise<LanguageModel> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: AgentOptions) {
    checkAgentOptions(options);
    this.#options = options;
    this.#retrieval = options.retriever === undefined ? undefined : readRetrievalOptions(options.retriever);
    this.#choice = chooseModel(options);
    this.#reporter = new ErrorReporter(options.onError);
    this.#kind = createKind(options);
    this.#isAdaptive = options.kind === "got" && options.adaptive === true;
    const { compression = false, history } = options;
    // What is left out here, nothing can summarise.
    this.#conversations = new Conversations(compression === false ? history : { ...LONG_HISTORY, ...history });
    const { metrics, callbacks = [], observers = [] } = options;
    this.#metrics = metrics || new MetricsCollector();
    if (callbacks.length > 0) this.#callbacks = createCallbackObserver(callbacks, this.#createCallbackOptions());
    const all = [
      ...(metrics === false ? [] : [this.#metrics]),
      ...(this.#callbacks === undefined ? [] : [this.#callbacks]),
      ...observers,
    ];
    this.#observation = new Observation(all, { onError: (error) => void this.#reporter.report(error) });
    if (compression !== false) this.#compressor = createCompressor(compression === true ? {} : compression);
    this.#toolbox = createToolbox([...(options.tools ?? []), ...(this.#kind.tools ?? [])]);
    this.#asks = this.#createAsks();
  }

  get kind(): AgentKindName {
    return this.#kind.name;
  }

  /** A `got` whose tasks may become graphs of their own. */
  get isAdaptive(): boolean {
    return this.#isAdaptive;
  }

  /** Those it may use. */
  get toolNames(): readonly string[] {
    return this.#limitTools(undefined).names;
  }

  /** What its runs have come to, in all; nothing where `metrics` is false. */
  get metrics(): MetricsCollector {
    return this.#metrics;
  }

  /**
   * Answers, and gives the answer whole. Rejects with the run's code when it fails, and with `cancelled` when it is
   * aborted; by then nothing of it is left.
   */
  async run(message: string, options: AskOptions = {}): Promise<RunResult> {
    const ask = this.#asks.create(message, "execute", options);
    await ask.begin();
    return ask.toResult();
  }

  /**
   * Answers, event by event; the last is `agent_finish`, which says how it ended. Throws where there is no run to tell
   * of, or its end cannot be read. Whoever leaves early cancels the run.
   */
  stream(message: string, options: AskOptions = {}): AnswerStream {
    // The first event may be asked for elsewhere than the stream; the run belongs to whoever asked for the stream.
    const inCallersContext = AsyncLocalStorage.snapshot();
    return streamAnswer((begin) => inCallersContext(() => begin(this.#asks.create(message, "stream", options))));
  }

  /** Events that callbacks were not told, since they were behind. */
  get callbacksDropped(): number {
    return this.#callbacks?.dropped ?? 0;
  }

  /** Resolves when callbacks were told all there is so far, or the time (5 seconds) is up: then it is false. */
  async flush(timeoutMs?: number): Promise<boolean> {
    const time = checkTime("timeoutMs", timeoutMs) ?? DEFAULT_FLUSH_MS;
    const told = this.#observation.idle().then(() => this.#callbacks?.flush(Number.POSITIVE_INFINITY));
    return waitFor(told, time);
  }

  /** Cancels what `run` and `stream` have going, tells callbacks what waits for them, and takes no more calls. */
  async close({ flushMs }: { readonly flushMs?: number } = {}): Promise<void> {
    const time = checkTime("flushMs", flushMs);
    // A callback that waited here for what waits for it would wait for itself.
    if (this.#closing !== undefined && this.#callbacks?.isTelling === true) return;
    await (this.#closing ??= this.#close(time));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(flushMs: number | undefined): Promise<void> {
    await this.#asks.close();
    await this.flush(flushMs);
    this.#callbacks?.close();
  }

  /** Opens a session whose messages this agent answers, by whomever they are sent, and whose dead runs it resumes. */
  async openSession(log: Log, sessionId: string, options: SessionOptions = {}): Promise<Session> {
    this.#assertOpen({ session_id: sessionId });
    const own = this.serve(log);
    return openSession(log, sessionId, {
      ...own,
      ...options,
      onCommit: (entries) => tellBoth(own.onCommit, options.onCommit, entries),
      onEnd: (ended) => tellBoth(own.onEnd, options.onEnd, ended),
    });
  }

  /** What a session needs to be this agent's; also for `recoverOrphans`. */
  serve(
    log: Log,
    { blobs }: Pick<CarryOutOptions, "blobs"> = {},
  ): Required<Pick<SessionOptions, "agent" | "onRun" | "resume" | "isIdempotent" | "onCommit" | "onEnd">> {
    return {
      ...this.#recover(log, blobs),
      onRun: async (run, { source }) => {
        await this.carryOut(log, run, { source, blobs });
      },
    };
  }

  /** For a session that is opened for calls of this process: messages of others wait for somebody who serves them. */
  #recover(
    log: Log,
    blobs?: AgentBlobs,
  ): Required<Pick<SessionOptions, "agent" | "resume" | "isIdempotent" | "onCommit" | "onEnd">> {
    return {
      // A run that another agent has started here is that one's.
      ...this.#observation.tap(log, { others: false }),
      agent: this.kind,
      resume: (dead) => (this.#canResume(dead) ? this.#resume(log, dead, blobs) : undefined),
      isIdempotent: (name) => this.#toolbox.isIdempotent(name),
    };
  }

  /** Starts a run and carries it out. Resolves when it has begun; `run.ended` tells how it ended. */
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
        agent: this.kind,
        ...request,
        ...inheritRules(request.toolRules),
        runId,
        message,
      });
    } catch (error) {
      stopWatching();
      throw error;
    }
    const cancel = (): void => void run.cancel("the caller has aborted it").catch(() => undefined);
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted === true) cancel();
    void this.carryOut(session.log, run, { source: request.source })
      .catch(() => undefined)
      .finally(() => {
        signal?.removeEventListener("abort", cancel);
        stopWatching();
      });
    return run;
  }

  /** Carries a run out to its end, good or bad. */
  async carryOut(log: Log, run: Run, { source, blobs, onFailure }: CarryOutOptions = {}): Promise<RunEnd> {
    const work = async (): Promise<FinishOptions> => {
      if (isBlank(run.message ?? "") && run.attachments.length === 0)
        throw new LoomError("invalid_command", "the message is empty: there is nothing to answer");
      const carryOut: AgentContext["carryOut"] = (graph, input) => runGraph(graph, { run, input });
      return this.#kind.answer(await this.#createContext(log, run, { source, blobs }, carryOut));
    };
    // In a session that is not this agent's, nobody has shown it so far.
    const { sessionId, runId } = run;
    const place = { log, sessionId, onCommit: run.onCommit.bind(run) };
    const stopWatching = this.#observation.watchRun(place, runId, { isBegun: true });
    try {
      return await this.#drive(run, work, onFailure);
    } finally {
      stopWatching();
    }
  }

  /** A call that waits for the user needs its tool: where it is missing, the run is left to whoever has it. */
  #canResume({ run, calls }: DeadRun): boolean {
    // A name that is no kind is one somebody gave the agent.
    if (KINDS.has(run.agent ?? "") && run.agent !== this.kind) return false;
    return calls.every(({ asked, name = "" }) => asked === undefined || this.#toolbox.find(name) !== undefined);
  }

  async #resume(log: Log, dead: DeadRun, blobs?: AgentBlobs): Promise<void> {
    const { run } = dead;
    const { sessionId, runId } = run;
    // Where the session is shared by agents, nobody else has shown it to those who look at this one.
    const place = { log, sessionId, onCommit: run.onCommit.bind(run) };
    const stopWatching = this.#observation.watchRun(place, runId);
    try {
      await this.#drive(run, async () => {
        const carryOut: AgentContext["carryOut"] = (graph) => resumeGraph(graph, dead, { log });
        return this.#kind.answer(await this.#createContext(log, run, { blobs }, carryOut));
      });
    } finally {
      stopWatching();
    }
  }

  async #drive(
    run: Run,
    work: () => Promise<FinishOptions>,
    onFailure?: CarryOutOptions["onFailure"],
  ): Promise<RunEnd> {
    try {
      return await run.finish(await work());
    } catch (error) {
      if (run.status !== "live") return run.ended;
      onFailure?.(error);
      return run.fail(describeFailure(error, this.#reporter));
    }
  }

  async #createContext(
    log: Log,
    run: Run,
    { source, blobs = this.#options.blobs }: Pick<CarryOutOptions, "source" | "blobs">,
    carryOut: AgentContext["carryOut"],
  ): Promise<AgentContext> {
    const { settings = {}, callOptions = {}, onError } = this.#options;
    const { sessionId, message: question = "" } = run;
    const conversation = await this.#conversations.recall(log, sessionId);
    const toolbox = this.#limitTools(run.toolRules);
    const executed = toolbox.names.length === 0 ? "llm_generate" : "llm_generate_with_tools";
    const stage = source === "execute" ? executed : "llm_stream";
    const loading = this.#loadModel().catch((error: unknown) => {
      throw asStaged(error, stage);
    });
    const [model, before] = await Promise.all([loading, conversation.readBefore(run.runId)]);
    const { isWhole } = conversation;
    this.#conversations.trim();
    const system = await this.#composeSystem(log, run);
    const compressor = this.#compressor;
    // A search offers tools now and then, and rules may leave none; a conversation with calls in it has to offer some.
    const history = this.kind === "react" && toolbox.names.length > 0 ? before : flattenTools(before);
    const report = (error: unknown): void => void this.#reporter.report(error);
    const { attachments: options } = this.#options;
    const files = new Attachments({ sessionId, model, blobs, options, signal: run.signal, onError: report });
    return {
      sessionId,
      run,
      question,
      files: run.attachments.map(toPart),
      model,
      toolbox,
      system,
      history,
      settings,
      callOptions: {
        maxOutputCharacters: MAX_OUTPUT_CHARACTERS,
        ...callOptions,
        files,
        describeCall: (name) => this.#toolbox.summarise(name),
        ...(compressor === undefined
          ? {}
          : {
              fit: createFit(compressor, {
                sessionId,
                // What is remembered of a session goes with its conversation.
                scope: conversation,
                model,
                present: history.length,
                hasLostBeginning: !isWhole,
                readEarlier: () => conversation.readCompressions(run.runId),
                onError: (error) => void this.#reporter.report(error),
              }),
            }),
      },
      stage,
      onError,
      saveBlob: bindSave(blobs, sessionId),
      carryOut,
    };
  }

  /** An agent's own rules and those of a run hold; what a kind brings along does nothing outside. */
  #limitTools(rules: ToolRules | undefined): Toolbox {
    const except = this.#kind.tools?.map(({ name }) => name) ?? [];
    return limitToolbox(this.#toolbox, { rules: [this.#options.toolRules, rules], except });
  }

  /** What the model is told first: the instructions, and what was found for the question. */
  async #composeSystem(log: Log, run: Run): Promise<string | undefined> {
    const { systemInstructions = "" } = this.#options;
    const found = this.#retrieval === undefined ? undefined : await retrieveContext(log, run, this.#retrieval);
    const parts = [systemInstructions, found ?? ""].filter((part) => !isBlank(part));
    return parts.length === 0 ? undefined : parts.join("\n\n");
  }

  #createAsks(): Asks {
    const { log, memory, approve, maxCalls, maxContextBytes, onError } = this.#options;
    const sessions = new AgentSessions({
      log,
      memory,
      open: (into, sessionId) =>
        openSession(into, sessionId, { ...this.#recover(into), ...(onError === undefined ? {} : { onError }) }),
      onGone: (sessionId) => this.#conversations.forget(sessionId),
    });
    const host = {
      agent: this.kind,
      acquire: (sessionId: string, isNamed: boolean) => sessions.acquire(sessionId, isNamed),
      expectRun: (run: { readonly sessionId: string; readonly runId: string }) => this.#observation.expectRun(run),
      carryOut: (into: Log, run: Run, how: CarryOutOptions) => this.carryOut(into, run, how),
      report: (error: unknown) => this.#reporter.report(error),
    };
    return new Asks(host, { hasLog: log !== undefined, approve, maxCalls, maxContextBytes });
  }

  #assertOpen(details: JsonObject): void {
    if (this.#closing !== undefined) throw new LoomError("session_closed", "the agent was closed", details);
  }

  /** What callbacks do wrong is told where the agent tells everything; where it tells nobody, they warn. */
  #createCallbackOptions(): CallbackOptions {
    const { onError, callbackOptions = {} } = this.#options;
    if (onError === undefined) return callbackOptions;
    return { onError: (error) => void this.#reporter.report(error), ...callbackOptions };
  }

  /** Once; a provider that could not be loaded is tried again with the next run. */
  #loadModel(): Promise<LanguageModel> {
    if (this.#model === undefined) {
      const loading = resolveModel(this.#choice);
      loading.catch(() => {
        if (this.#model === loading) this.#model = undefined;
      });
      this.#model = loading;
    }
    return this.#model;
  }
}

/** A timer has a longest time; what is longer would go off at once. */
function checkTime(name: string, ms: number | undefined): number | undefined {
  if (ms === undefined) return undefined;
  if (typeof ms === "number" && ms >= 0) return limitTimer(ms);
  throw new LoomError("invalid_arguments", `\`${name}\` must be milliseconds from 0 on, not ${ms}`, { option: name });
}

/** The agent's own first; what the caller's throws is told by the session. */
function tellBoth<T>(own: (what: T) => void, callers: ((what: T) => unknown) | undefined, what: T): unknown {
  own(what);
  return callers?.(what);
}

const KINDS: ReadonlySet<string> = new Set(AGENT_KINDS);
