/**
 * Answers messages with a model and tools: loads the model, reads the history, and lets the agent's kind execute its
 * graph. Between runs it keeps nothing of a session except the history it has read.
 */
import { Compressor } from "../context/compression/compressor.ts";
import type { DeadRun } from "../engine/index.ts";
import type { FinishOptions } from "../engine/run-contract.ts";
import type { ErrorReporter } from "../engine/error-reporter.ts";
import { resumeGraph, runGraph } from "../graph/index.ts";
import type { Log } from "../log/index.ts";
import type { LanguageModel } from "../models/model.ts";
import { resolveModel } from "../models/resolve-model.ts";
import { detectLanguage } from "../protocol/detect-language.ts";
import { ADAPTIVE, isKindName } from "../protocol/agent-kinds.ts";
import { LoomError } from "../protocol/index.ts";
import { isStrategyAgent, type StrategySettings, toStrategySettings } from "../protocol/strategy-settings.ts";
import { addClientTools } from "../tools/add-client-tools.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { createToolbox, limitToolbox, type Toolbox } from "../tools/toolbox.ts";
import type { AgentContext, AgentKind } from "./agent-kind.ts";
import type { AgentRun } from "./agent-run.ts";
import { type AgentOptions, chooseModels, type CommonOptions } from "./agent-options.ts";
import type { AgentStrategy, AnswerOptions } from "./agent-strategy.ts";
import { Attachments, bindSaveBlob } from "./attachments.ts";
import { isBlank, toPart } from "./compose-question.ts";
import { ContentRecorder } from "./content-recorder.ts";
import { type Conversation, Conversations, LONG_HISTORY } from "./conversation.ts";
import { createFit } from "./create-fit.ts";
import { createKind } from "./create-kind.ts";
import type { FileStorage } from "./load-attachments.ts";
import { flattenTools } from "./flatten-tools.ts";
import { NO_OUTPUT, OutputFormat } from "./output-format.ts";
import { readRetrievalOptions, type RetrievalSettings, retrieveContext } from "./retrieve-context.ts";
import { withStage } from "./think.ts";

/** The answer is stored in one record, which has at most 1 MiB. */
const MAX_OUTPUT_CHARACTERS = 900_000;

/** Separates the instructions of the agent from those of the client. */
const OF_CLIENT =
  "Instructions of the application that the user works with follow. They apply to this answer only. Follow them as far as they do not contradict anything above, which takes precedence.";

/** The model of the agent, and those to fall back on. */
type LoadedModels = readonly [LanguageModel, ...LanguageModel[]];

export class ModelStrategy implements AgentStrategy {
  readonly isAdaptive: boolean;
  readonly hasOutput: boolean;
  readonly ownSettings: StrategySettings | undefined;
  readonly #kind: AgentKind;
  readonly #options: CommonOptions;
  readonly #retrieval: RetrievalSettings | undefined;
  readonly #choices: ReturnType<typeof chooseModels>;
  readonly #toolbox: Toolbox;
  readonly #reporter: ErrorReporter;
  readonly #compressor: Compressor | undefined;
  readonly #conversations: Conversations;
  #models: Promise<LoadedModels> | undefined;

  constructor(options: AgentOptions, reporter: ErrorReporter) {
    this.#options = options;
    this.#reporter = reporter;
    this.#retrieval = options.retriever === undefined ? undefined : readRetrievalOptions(options.retriever);
    this.#choices = chooseModels(options);
    this.#kind = createKind(options);
    this.isAdaptive = options.kind === "got" && options.adaptive === true;
    const { kind = "react" } = options;
    const name = this.isAdaptive ? ADAPTIVE : kind;
    this.ownSettings = isStrategyAgent(name) ? toStrategySettings(name, { ...options }) : undefined;
    this.hasOutput = kind === "react";
    const { compression = false, history } = options;
    // A summary cannot contain what the history leaves out.
    this.#conversations = new Conversations(compression === false ? history : { ...LONG_HISTORY, ...history });
    if (compression !== false) this.#compressor = new Compressor(compression === true ? {} : compression);
    this.#toolbox = createToolbox(options.tools ?? []);
  }

  get kind(): AgentKind["name"] {
    return this.#kind.name;
  }

  get files(): FileStorage {
    const { blobs, attachments: options } = this.#options;
    return { blobs, options };
  }

  get toolNames(): readonly string[] {
    return this.#limitTools().names;
  }

  async answer(log: Log, run: AgentRun, options: AnswerOptions): Promise<FinishOptions> {
    const { attachments = [] } = run.request;
    if (isBlank(run.message ?? "") && attachments.length === 0)
      throw new LoomError("invalid_command", "The message is empty");
    const executeGraph: AgentContext["executeGraph"] = (graph, input) => runGraph(graph, { run, input });
    return this.#kind.answer(await this.#createContext(log, run, options, executeGraph));
  }

  async resume(log: Log, dead: DeadRun, options: AnswerOptions): Promise<FinishOptions> {
    const executeGraph: AgentContext["executeGraph"] = (graph) => resumeGraph(graph, dead, { log });
    return this.#kind.answer(await this.#createContext(log, dead.run, options, executeGraph));
  }

  /**
   * A call that waits for approval or for the client needs its tool; without the tool, the run is left to an agent that
   * has it.
   */
  canResume({ run: { agent, request }, calls }: Pick<DeadRun, "run" | "calls">): boolean {
    if (request.outputSchema !== undefined && !this.hasOutput) return false;
    // A name that is not a kind is a custom agent name.
    const runKind = agent === ADAPTIVE ? "got" : agent;
    if (isKindName(runKind) && runKind !== this.kind) return false;
    const hasTool = (name: string): boolean =>
      this.#toolbox.find(name) !== undefined || request.clientTools?.some((tool) => tool.name === name) === true;
    return calls.every(
      ({ approvalArguments, state, name = "" }) =>
        (approvalArguments === undefined && state !== "delegated") || hasTool(name),
    );
  }

  canRestart(): boolean {
    return false;
  }

  isIdempotent(name: string): boolean {
    return this.#toolbox.isIdempotent(name);
  }

  get isRepeatable(): boolean {
    return (this.#options.tools ?? []).every(({ name }) => this.isIdempotent(name));
  }

  forget(sessionId: string): void {
    this.#conversations.forget(sessionId);
  }

  async #createContext(
    log: Log,
    run: AgentRun,
    { blobs = this.#options.blobs, output = this.#readOutput(run.request), isNested = false }: AnswerOptions,
    executeGraph: AgentContext["executeGraph"],
  ): Promise<AgentContext> {
    const { settings = {}, reasoning = "auto", caching = true, callOptions = {} } = this.#options;
    const { exposeToolErrors } = this.#options;
    const { sessionId, message: question = "" } = run;
    const language = detectLanguage(question);
    const conversation = isNested ? undefined : await this.#conversations.recall(log, sessionId);
    const toolbox = this.#limitTools(run.request);
    const executed = toolbox.names.length === 0 ? "llm_generate" : "llm_generate_with_tools";
    const stage = run.request.source === "execute" ? executed : "llm_stream";
    const loading = this.#loadModels().catch((error: unknown) => {
      throw withStage(error, stage);
    });
    const [[model, ...fallbacks], before = []] = await Promise.all([loading, conversation?.readBefore(run.runId)]);
    const isWhole = conversation?.isWhole ?? true;
    const recorder = await this.#openRecorder(conversation);
    this.#conversations.trim();
    const system = await this.#composeSystem(log, run);
    const compressor = this.#compressor;
    // `tot` and `got` do not offer tools in every call, and rules may deny all tools. Providers reject tool calls in
    // the history if no tools are offered.
    const history = this.kind === "react" && toolbox.names.length > 0 ? before : flattenTools(before);
    const report = (error: unknown): void => void this.#reporter.report(error);
    const { attachments: options } = this.#options;
    return {
      sessionId,
      log,
      run,
      question,
      files: (run.request.attachments ?? []).map(toPart),
      model,
      toolbox,
      system,
      history,
      ...(output === undefined ? {} : { output }),
      settings: { reasoning: run.request.reasoning ?? reasoning, caching, ...settings },
      callOptions: { maxOutputCharacters: MAX_OUTPUT_CHARACTERS, ...callOptions },
      fallbacks,
      fit:
        compressor &&
        createFit(compressor, {
          // Summaries are discarded together with the conversation.
          session: conversation ?? run,
          recorder,
          model,
          turnStart: history.length,
          isHistoryTruncated: !isWhole,
          readEarlier: async () => (await conversation?.readCompressions(run.runId)) ?? [],
          onError: report,
        }),
      attachments: new Attachments({ sessionId, model, blobs, options, signal: run.signal, onError: report }),
      recorder,
      describeCall: (name, input) =>
        dropUndefined({ description: toolbox.summarize(name, language, input), server: toolbox.find(name)?.server }),
      stage,
      language,
      exposeToolErrors,
      onError: this.#reporter.onError,
      saveBlob: bindSaveBlob(blobs, sessionId),
      executeGraph,
    };
  }

  /** Adds the tools of the client, and applies the rules of the agent and of the run. */
  #limitTools({ toolRules, clientTools = [] }: Partial<AgentRun["request"]> = {}): Toolbox {
    return limitToolbox(addClientTools(this.#toolbox, clientTools), [this.#options.toolRules, toolRules]);
  }

  /** An agent that works as a tool has no history and records its calls separately. */
  async #openRecorder(conversation: Conversation | undefined): Promise<ContentRecorder | undefined> {
    const { recordPrompts = false } = this.#options;
    if (recordPrompts === false) return undefined;
    const options = recordPrompts === true ? {} : recordPrompts;
    return conversation === undefined ? new ContentRecorder(options) : conversation.openRecorder(options);
  }

  /** The structured output that the request of the run asks for, or that of the agent. Throws `invalid_command`. */
  #readOutput({ outputSchema }: AgentRun["request"]): OutputFormat | undefined {
    if (outputSchema === undefined) return this.#kind.createOutput?.();
    if (!this.hasOutput) throw new LoomError("invalid_command", NO_OUTPUT);
    return OutputFormat.fromJsonSchema(outputSchema);
  }

  /**
   * The system message: the instructions of the agent, the passages found for the question, and the instructions of the
   * client. These come last, so that no text of a client can pretend to be the agent's.
   */
  async #composeSystem(log: Log, run: AgentRun): Promise<string | undefined> {
    const { systemInstructions = "" } = this.#options;
    const found = this.#retrieval === undefined ? undefined : await retrieveContext(log, run, this.#retrieval);
    const own = [systemInstructions, found ?? ""].filter((part) => !isBlank(part));
    const { instructions } = run.request;
    const given = instructions === undefined ? [] : [...(own.length === 0 ? [] : [OF_CLIENT]), instructions];
    const parts = [...own, ...given];
    return parts.length === 0 ? undefined : parts.join("\n\n");
  }

  /** Loads the models once. If that fails, the next run tries again. */
  #loadModels(): Promise<LoadedModels> {
    if (this.#models === undefined) {
      const [first, ...others] = this.#choices;
      const loading = Promise.all([resolveModel(first), ...others.map((other) => resolveModel(other))]);
      loading.catch(() => {
        if (this.#models === loading) this.#models = undefined;
      });
      this.#models = loading;
    }
    return this.#models;
  }
}
