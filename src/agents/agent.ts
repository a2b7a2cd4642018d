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
import type { LanguageModel, ModelCallOptions, ModelChoice, ModelMessage, ModelSettings } from "../models/model.ts";
import { parseModelName, resolveModel } from "../models/resolve-model.ts";
import { BoundedMap, type Json, type JsonObject, LoomError } from "../protocol/index.ts";
import { defineTool } from "../tools/define-tool.ts";
import type { StandardSchema } from "../tools/standard-schema.ts";
import type { Tool } from "../tools/tool.ts";
import { toolResult } from "../tools/tool-result.ts";
import { createToolbox, type Toolbox } from "../tools/toolbox.ts";
import { Conversation, type HistoryOptions } from "./conversation.ts";
import { createReactGraph, type ReactContext } from "./react-graph.ts";
import { isBlank } from "./run-messages.ts";

export interface AgentOptions {
  /** `openai`, `anthropic`, `ollama`, `offline`, or any name with `baseURL`. */
  readonly provider?: string;
  /** The model's name at its provider, `provider/name`, or a model object of the AI SDK. */
  readonly model?: ModelChoice;
  readonly baseURL?: string;
  readonly apiKey?: string;
  readonly tools?: readonly Tool[];
  /** What the model is told before everything else. */
  readonly system?: string;
  /** Rounds of thinking and acting; then it answers with what it has. Code `iteration_limit`. */
  readonly maxRounds?: number;
  readonly history?: HistoryOptions;
  readonly settings?: ModelSettings;
  /** Retries, time-outs and limits of a model call. */
  readonly callOptions?: Omit<ModelCallOptions, "signal">;
  /** Gives the answer a form: the reply is JSON that fits it. */
  readonly answer?: AnswerForm;
  /** Told of errors that are not ours; users see the id only. */
  readonly onError?: (error: unknown, errorId: string) => void;
}

export interface AnswerRequest extends Omit<RunRequest, "message"> {
  /** Cancels the run. */
  readonly signal?: AbortSignal;
}

export interface AnswerForm {
  readonly schema: StandardSchema;
  /** JSON Schema of the answer, where the schema cannot give its own. */
  readonly inputSchema?: JsonObject;
  readonly description?: string;
}

const MAX_ROUNDS = 25;
/** Sessions whose history is kept in memory, and how much of it in all. */
const MAX_CONVERSATIONS = 1000;
const MAX_REMEMBERED_CHARACTERS = 16 * 1024 * 1024;
const ANSWER_TOOL = "final_answer";
/** An answer is kept whole in one record, which may have 1 MiB. */
const MAX_OUTPUT_CHARACTERS = 900_000;

/** An agent of the kind ReAct: it thinks, acts and observes until it can answer. */
export function agent(options: AgentOptions): Agent {
  return new Agent(options);
}

export class Agent {
  readonly kind = "react";
  readonly #options: AgentOptions;
  readonly #choice: ModelChoice;
  readonly #toolbox: Toolbox;
  readonly #answerTool: string | undefined;
  readonly #reporter: ErrorReporter;
  readonly #conversations = new BoundedMap<Conversation>(MAX_CONVERSATIONS);
  #model: Promise<LanguageModel> | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#choice = chooseModel(options);
    this.#reporter = new ErrorReporter(options.onError);
    const { tools = [], answer, maxRounds = MAX_ROUNDS } = options;
    if (!Number.isSafeInteger(maxRounds) || maxRounds < 0)
      throw new LoomError("graph_invalid", `\`maxRounds\` must be a whole number from 0 on, not ${maxRounds}`);
    this.#answerTool = answer === undefined ? undefined : ANSWER_TOOL;
    this.#toolbox = createToolbox(answer === undefined ? tools : [...tools, createAnswerTool(answer)]);
  }

  get toolNames(): readonly string[] {
    return this.#toolbox.names;
  }

  /** Opens a session whose messages this agent answers, by whomever they are sent, and whose dead runs it resumes. */
  openSession(log: Log, sessionId: string, options: SessionOptions = {}): Promise<Session> {
    return openSession(log, sessionId, { ...this.serve(log), ...options });
  }

  /** What a session needs to be this agent's; also for `recoverOrphans`. */
  serve(log: Log): Required<Pick<SessionOptions, "onRun" | "resume" | "isIdempotent">> {
    return {
      onRun: async (run, { source }) => {
        await this.carryOut(log, run, { source });
      },
      // A call that waits for the user needs its tool: where it is missing, the run is left to whoever has it.
      resume: (dead) => (this.#hasTools(dead) ? this.#resume(log, dead) : undefined),
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
      const context = await this.#createContext(log, run, source);
      const { message: text = "" } = run;
      if (isBlank(text)) throw new LoomError("invalid_command", "the message is empty: there is nothing to answer");
      const messages = [{ role: "user", content: [{ type: "text", text }] }] as const;
      const state = await runGraph(createReactGraph(context), { run, input: { messages } });
      return { ...state, lastNodeId: context.lastNodeId };
    });
  }

  #hasTools({ calls }: DeadRun): boolean {
    return calls.every(({ asked, name = "" }) => asked === undefined || this.#toolbox.find(name) !== undefined);
  }

  async #resume(log: Log, dead: DeadRun): Promise<void> {
    const { run } = dead;
    await this.#drive(run, async () => {
      const context = await this.#createContext(log, run, undefined);
      const state = await resumeGraph(createReactGraph(context), dead, { log });
      return { ...state, lastNodeId: context.lastNodeId };
    });
  }

  async #drive(run: Run, work: () => Promise<FinalState>): Promise<RunEnd> {
    try {
      const state = await work();
      return await run.finish(this.#describeAnswer(state));
    } catch (error) {
      if (run.status !== "live") return run.ended;
      return run.fail(describeFailure(error, this.#reporter));
    }
  }

  #describeAnswer({ answer, round, messages, lastNodeId: nodeId }: FinalState): FinishOptions {
    if (answer !== null) return { reply: JSON.stringify(answer), nodeId };
    const { maxRounds = MAX_ROUNDS } = this.#options;
    if (this.#answerTool !== undefined)
      throw new LoomError("iteration_limit", "the model did not give its answer the form it must have", {
        stage: "iteration_limit",
      });
    const last = messages.at(-1);
    const hasText = last?.role === "assistant" && last.content.some(({ type }) => type === "text");
    // A model that calls tools to the last has still to be answered for.
    if (hasText || round < maxRounds) return {};
    return { reply: `I have used my ${maxRounds} rounds and have no answer.`, nodeId };
  }

  async #createContext(log: Log, run: Run, source: RunOrigin["source"]): Promise<ReactContext> {
    const { system, maxRounds = MAX_ROUNDS, settings = {}, callOptions = {}, onError } = this.#options;
    const { sessionId } = run;
    const conversation = this.#recall(log, sessionId);
    const [model, before] = await Promise.all([this.#loadModel(), conversation.readBefore(run.runId)]);
    this.#forgetOldest();
    const executed = this.#toolbox.names.length === 0 ? "llm_generate" : "llm_generate_with_tools";
    return {
      sessionId,
      run,
      model,
      toolbox: this.#toolbox,
      system: system === undefined || isBlank(system) ? undefined : system,
      history: before,
      maxRounds,
      settings,
      callOptions: { maxOutputCharacters: MAX_OUTPUT_CHARACTERS, ...callOptions },
      stage: source === "execute" ? executed : "llm_stream",
      answerTool: this.#answerTool,
      onError,
    };
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

interface FinalState {
  readonly messages: readonly ModelMessage[];
  readonly round: number;
  readonly answer: Json;
  readonly lastNodeId: string | undefined;
}

function chooseModel({ provider, model, baseURL, apiKey }: AgentOptions): ModelChoice {
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

function createAnswerTool({ schema, inputSchema, description }: AnswerForm): Tool {
  return defineTool({
    name: ANSWER_TOOL,
    description: description ?? "Gives the final answer, in the form it must have. Call it once, when you are done.",
    input: schema,
    ...(inputSchema === undefined ? {} : { inputSchema }),
    execute: (answer) => toolResult({ text: "The answer was accepted.", output: answer }),
  });
}
