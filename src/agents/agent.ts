/**
 * An agent: a model, its tools, and a way of going about a question. It carries out runs of any session of a log, and
 * goes on with those whose process died. It holds nothing of a session but what it has read of its history.
 */
import {
  type DeadRun,
  describeFailure,
  ErrorReporter,
  type FinishOptions,
  openSession,
  type Run,
  type RunEnd,
  type RunOrigin,
  type RunRequest,
  type Session,
  type SessionOptions,
} from "../engine/index.ts";
import { resumeGraph, runGraph } from "../graph/index.ts";
import type { Log } from "../log/index.ts";
import type { CompressionOptions } from "../context/compression/compression-options.ts";
import type { Compressor } from "../context/compression/compressor.ts";
import { createCompressor } from "../context/compression/create-compressor.ts";
import type { Retriever } from "../context/retriever.ts";
import type { LanguageModel, ModelCallOptions, ModelChoice, ModelSettings } from "../models/model.ts";
import { parseModelName, resolveModel } from "../models/resolve-model.ts";
import { Observation } from "../observe/observation.ts";
import type { Observer } from "../observe/observer.ts";
import { BoundedMap, LoomError } from "../protocol/index.ts";
import type { Tool } from "../tools/tool.ts";
import { createToolbox, type Toolbox } from "../tools/toolbox.ts";
import { AGENT_KINDS, type AgentContext, type AgentKind, type AgentKindName } from "./agent-kind.ts";
import { Conversation, type HistoryOptions } from "./conversation.ts";
import { flattenTools } from "./flatten-tools.ts";
import { createFit } from "./create-fit.ts";
import { createGot, type GotOptions } from "./got/got.ts";
import { createReact, type ReactOptions } from "./react/react.ts";
import { retrieveContext, type RetrievalOptions } from "./retrieve-context.ts";
import { isBlank } from "./run-messages.ts";
import { createTot, type TotOptions } from "./tot/tot.ts";

/** What agents of all kinds have. */
export interface CommonOptions {
  /** `openai`, `anthropic`, `ollama`, `offline`, or any name with `baseURL`. */
  readonly provider?: string;
  /** The model's name at its provider, `provider/name`, or a model object of the AI SDK. */
  readonly model?: ModelChoice;
  readonly baseURL?: string;
  readonly apiKey?: string;
  readonly tools?: readonly Tool[];
  /** What the model is told before everything else. */
  readonly systemInstructions?: string;
  /** Finds passages for each question before the model is asked. */
  readonly retriever?: Retriever | RetrievalOptions;
  /** Makes prompts fit the model when they grow too long; true for the defaults. */
  readonly compression?: boolean | CompressionOptions;
  /** Told of every run: traces, logs, metrics of another kind. */
  readonly observers?: readonly Observer[];
  readonly history?: HistoryOptions;
  readonly settings?: ModelSettings;
  /** Retries, time-outs and limits of a model call. */
  readonly callOptions?: Omit<ModelCallOptions, "signal">;
  /** Told of errors that are not ours; users see the id only. */
  readonly onError?: (error: unknown, errorId: string) => void;
}

/**
 * `react` thinks, acts and observes until it can answer; `tot` searches a tree of thoughts; `got` plans a graph of
 * thoughts and works on them side by side.
 */
export type AgentOptions = CommonOptions &
  (
    | ({ readonly kind?: "react" } & ReactOptions)
    | ({ readonly kind: "tot" } & TotOptions)
    | ({ readonly kind: "got" } & GotOptions)
  );

export interface AnswerRequest extends Omit<RunRequest, "message"> {
  /** Cancels the run. */
  readonly signal?: AbortSignal;
}

/** Sessions whose history is kept in memory, and how much of it in all. */
const MAX_CONVERSATIONS = 1000;
const MAX_REMEMBERED_CHARACTERS = 16 * 1024 * 1024;
/** An answer is kept whole in one record, which may have 1 MiB. */
const MAX_OUTPUT_CHARACTERS = 900_000;

export function agent(options: AgentOptions): Agent {
  return new Agent(options);
}

export class Agent {
  readonly #kind: AgentKind;
  readonly #options: CommonOptions;
  readonly #choice: ModelChoice;
  readonly #toolbox: Toolbox;
  readonly #reporter: ErrorReporter;
  readonly #observation: Observation;
  readonly #compressor: Compressor | undefined;
  readonly #conversations = new BoundedMap<Conversation>(MAX_CONVERSATIONS);
  #model: Promise<LanguageModel> | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#choice = chooseModel(options);
    this.#reporter = new ErrorReporter(options.onError);
    this.#kind = createKind(options);
    this.#observation = new Observation(options.observers ?? [], {
      onError: (error) => void this.#reporter.report(error),
    });
    const { compression = false } = options;
    if (compression !== false) this.#compressor = createCompressor(compression === true ? {} : compression);
    this.#toolbox = createToolbox([...(options.tools ?? []), ...(this.#kind.tools ?? [])]);
  }

  get kind(): AgentKindName {
    return this.#kind.name;
  }

  get toolNames(): readonly string[] {
    return this.#toolbox.names;
  }

  /** Opens a session whose messages this agent answers, by whomever they are sent, and whose dead runs it resumes. */
  openSession(log: Log, sessionId: string, options: SessionOptions = {}): Promise<Session> {
    return openSession(log, sessionId, { ...this.serve(log), ...options });
  }

  /** What a session needs to be this agent's; also for `recoverOrphans`. */
  serve(
    log: Log,
  ): Required<Pick<SessionOptions, "agent" | "onRun" | "resume" | "isIdempotent" | "onCommit" | "onEnd">> {
    return {
      ...this.#observation.tap(log),
      agent: this.kind,
      onRun: async (run, { source }) => {
        await this.carryOut(log, run, { source });
      },
      resume: (dead) => (this.#canResume(dead) ? this.#resume(log, dead) : undefined),
      isIdempotent: (name) => this.#toolbox.isIdempotent(name),
    };
  }

  /** Starts a run and carries it out. Resolves when it has begun; `run.ended` tells how it ended. */
  async answer(session: Session, message: string, { signal, ...request }: AnswerRequest = {}): Promise<Run> {
    signal?.throwIfAborted();
    const run = await session.startRun({ agent: this.kind, ...request, message });
    const cancel = (): void => void run.cancel("the caller has aborted it").catch(() => undefined);
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted === true) cancel();
    void this.carryOut(session.log, run, { source: request.source })
      .catch(() => undefined)
      .finally(() => signal?.removeEventListener("abort", cancel));
    return run;
  }

  /** Carries a run out to its end, good or bad. */
  async carryOut(log: Log, run: Run, { source }: Pick<RunOrigin, "source"> = {}): Promise<RunEnd> {
    return this.#drive(run, async () => {
      if (isBlank(run.message ?? ""))
        throw new LoomError("invalid_command", "the message is empty: there is nothing to answer");
      const carryOut: AgentContext["carryOut"] = (graph, input) => runGraph(graph, { run, input });
      return this.#kind.answer(await this.#createContext(log, run, source, carryOut));
    });
  }

  /** A call that waits for the user needs its tool: where it is missing, the run is left to whoever has it. */
  #canResume({ run, calls }: DeadRun): boolean {
    // A name that is no kind is one somebody gave the agent.
    if (KINDS.has(run.agent ?? "") && run.agent !== this.kind) return false;
    return calls.every(({ asked, name = "" }) => asked === undefined || this.#toolbox.find(name) !== undefined);
  }

  async #resume(log: Log, dead: DeadRun): Promise<void> {
    const { run } = dead;
    await this.#drive(run, async () => {
      const carryOut: AgentContext["carryOut"] = (graph) => resumeGraph(graph, dead, { log });
      return this.#kind.answer(await this.#createContext(log, run, undefined, carryOut));
    });
  }

  async #drive(run: Run, work: () => Promise<FinishOptions>): Promise<RunEnd> {
    try {
      return await run.finish(await work());
    } catch (error) {
      if (run.status !== "live") return run.ended;
      return run.fail(describeFailure(error, this.#reporter));
    }
  }

  async #createContext(
    log: Log,
    run: Run,
    source: RunOrigin["source"],
    carryOut: AgentContext["carryOut"],
  ): Promise<AgentContext> {
    const { settings = {}, callOptions = {}, onError } = this.#options;
    const { sessionId, message: question = "" } = run;
    const conversation = this.#recall(log, sessionId);
    const [model, before] = await Promise.all([this.#loadModel(), conversation.readBefore(run.runId)]);
    this.#forgetOldest();
    const system = await this.#composeSystem(log, run);
    const compressor = this.#compressor;
    // A search offers tools now and then; a conversation with calls in it would have to offer them always.
    const history = this.kind === "react" ? before : flattenTools(before);
    const executed = this.#toolbox.names.length === 0 ? "llm_generate" : "llm_generate_with_tools";
    return {
      sessionId,
      run,
      question,
      model,
      toolbox: this.#toolbox,
      system,
      history,
      settings,
      callOptions: {
        maxOutputCharacters: MAX_OUTPUT_CHARACTERS,
        ...callOptions,
        ...(compressor === undefined ? {} : { fit: createFit(compressor, { sessionId, model }) }),
      },
      stage: source === "execute" ? executed : "llm_stream",
      onError,
      carryOut,
    };
  }

  /** What the model is told first: the instructions, and what was found for the question. */
  async #composeSystem(log: Log, run: Run): Promise<string | undefined> {
    const { systemInstructions = "", retriever } = this.#options;
    const options = retriever === undefined || "retriever" in retriever ? retriever : { retriever };
    const found = options === undefined ? undefined : await retrieveContext(log, run, options);
    const parts = [systemInstructions, found ?? ""].filter((part) => !isBlank(part));
    return parts.length === 0 ? undefined : parts.join("\n\n");
  }

  #recall(log: Log, sessionId: string): Conversation {
    let conversation = this.#conversations.get(sessionId);
    // Sessions of two logs may have one name.
    if (conversation?.log !== log) conversation = new Conversation(log, sessionId, this.#options.history);
    // The latest stands last.
    this.#conversations.delete(sessionId);
    this.#conversations.set(sessionId, conversation);
    return conversation;
  }

  /** What is forgotten is read again from the log when its session goes on. */
  #forgetOldest(): void {
    let characters = 0;
    for (const conversation of this.#conversations.values()) characters += conversation.characters;
    for (const [sessionId, conversation] of this.#conversations) {
      if (characters <= MAX_REMEMBERED_CHARACTERS) return;
      characters -= conversation.characters;
      this.#conversations.delete(sessionId);
    }
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

const KINDS: ReadonlySet<string> = new Set(AGENT_KINDS);

function createKind(options: AgentOptions): AgentKind {
  const { kind = "react" } = options;
  // Somebody who writes no types would take a reply without its form for one that has it.
  if (kind !== "react" && "answer" in options && options.answer !== undefined)
    throw new LoomError("graph_invalid", `an answer with a form is for the kind react, not for ${kind}`);
  switch (options.kind) {
    case undefined:
    case "react":
      return createReact(options);
    case "tot":
      return createTot(options);
    case "got":
      return createGot(options);
    default:
      throw new LoomError("graph_invalid", `there is no agent of the kind ${JSON.stringify(kind)}`);
  }
}

function chooseModel({ provider, model, baseURL, apiKey }: CommonOptions): ModelChoice {
  const where = {
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(apiKey === undefined ? {} : { apiKey }),
  };
  if (typeof model === "object" && model !== null) {
    if (provider !== undefined || Object.keys(where).length > 0)
      throw new LoomError("unknown_model", "a model that is given as an object has its own provider, address and key");
    return model;
  }
  if (provider !== undefined) return { provider, ...(model == null ? {} : { model }), ...where };
  if (typeof model !== "string") throw new LoomError("unknown_model", "an agent needs a `model`, or a `provider`");
  return { ...parseModelName(model), ...where };
}
