/**
 * An agent of another framework, as an agent like ours: for servers, the page, the command line and programs. Every run
 * asks a function for a source. When the process of a run dies, the function is asked again.
 */
import { Agent } from "../agents/agent.ts";
import type { AgentLifeOptions } from "../agents/agent-options.ts";
import { LIFE_OPTIONS } from "../agents/check-agent-options.ts";
import type { AgentRun } from "../agents/agent-run.ts";
import type { AgentStrategy, AnswerOptions } from "../agents/agent-strategy.ts";
import type { Run } from "../engine/index.ts";
import type { FinishOptions } from "../engine/run-contract.ts";
import type { RunOrigin } from "../engine/run-origin.ts";
import type { Log } from "../log/index.ts";
import { type ClientTool, LoomError, type ReasoningLevel } from "../protocol/index.ts";
import { describeValue } from "../protocol/fault.ts";
import { conversation, ConversationHistory } from "./conversation.ts";
import { createSourceContext, type ForeignSource, type SourceContext } from "./source.ts";
import { recordSource, type ForeignSourceOptions, SOURCE_OPTIONS } from "./source-recorder.ts";
import { type OptionTable, readOptions, TEXTS_OPTION } from "../protocol/read-options.ts";

/** What a foreign agent knows about the run it answers. */
export interface ForeignContext extends SourceContext {
  /** Which attempt this is, from 1. Earlier ones ended with their process. */
  readonly attempt: number;
  /** Files of the message, by reference. */
  readonly attachments: NonNullable<RunOrigin["attachments"]>;
  /** Tools that the client of the run carries out, to be offered to the model like those without `execute`. */
  readonly clientTools: readonly ClientTool[];
  /** Instructions of the client for this run, to be added to the system prompt. */
  readonly instructions: string | undefined;
  /** How much the user wants the models to reason. */
  readonly reasoning: ReasoningLevel | undefined;
  readonly log: Log;
  /**
   * Reads the conversation up to and including the message of this run. After an interruption it also has the calls of
   * this run, so that the framework need not repeat them: those that have finished with their results, and those that
   * had no result with an error that says so. Calls that wait for an approval are in `openCalls`.
   */
  conversation(): Promise<ConversationHistory>;
}

/** Creates the source of a run. */
export type CreateSource = (message: string, context: ForeignContext) => ForeignSource | Promise<ForeignSource>;

/** Options of `foreignAgent`. */
export interface ForeignAgentOptions extends AgentLifeOptions, ForeignSourceOptions {
  /** Names of the tools of the agent, for lists of agents. Default: none. */
  readonly toolNames?: readonly string[];
}

/**
 * Creates an agent from a function that runs an agent of another framework.
 *
 * ```ts
 * const helper = foreignAgent(async (message, { signal, conversation }) => {
 *   const messages = (await conversation()).toModelMessages();
 *   return fromAISDK(streamText({ model, messages, abortSignal: signal }));
 * });
 * const server = await startLoomServer({ agents: { helper } });
 * ```
 */
export function foreignAgent(create: CreateSource, options: ForeignAgentOptions = {}): Agent {
  if (typeof create !== "function")
    throw new LoomError("invalid_arguments", `\`foreignAgent\` needs a function, not ${describeValue(create)}`);
  readOptions(OPTIONS, options);
  return new Agent(options, () => new ForeignStrategy(create, options));
}

const OPTIONS: OptionTable<ForeignAgentOptions> = {
  ...LIFE_OPTIONS,
  toolNames: TEXTS_OPTION,
  ...SOURCE_OPTIONS,
};

class ForeignStrategy implements AgentStrategy {
  readonly kind = "foreign";
  readonly isAdaptive = false;
  /** The effects of its tools are unknown. */
  readonly isRepeatable = false;
  readonly toolNames: readonly string[];
  readonly #create: CreateSource;
  readonly #options: ForeignSourceOptions;

  constructor(create: CreateSource, { toolNames = [], ...options }: ForeignAgentOptions) {
    this.#create = create;
    this.#options = options;
    this.toolNames = toolNames;
  }

  async answer(log: Log, run: AgentRun, { isNested = false }: AnswerOptions): Promise<FinishOptions> {
    const { sessionId, runId, message = "" } = run;
    const { attachments = [], reasoning, clientTools = [], instructions } = run.request;
    const { attempt } = run.work;
    // Calls that an earlier process handed to the client. With their results, they are part of the conversation.
    for (const { callId = "" } of run.work.calls) await run.recallClient(callId);
    await waitForAnswers(run);
    const context = {
      ...createSourceContext(run),
      attempt,
      attachments,
      clientTools,
      instructions,
      reasoning,
      log,
      async conversation() {
        if (isNested) return new ConversationHistory([{ role: "user", content: [{ type: "text", text: message }] }]);
        // What the run has written, for example that the answer of an earlier attempt no longer counts.
        await run.settled();
        return conversation(log, sessionId, { through: runId });
      },
    };
    return recordSource(run, () => this.#create(message, context), this.#options);
  }

  resume(): Promise<FinishOptions> {
    return Promise.reject(new LoomError("interrupted", "A foreign agent has no checkpoints to resume from"));
  }

  /** A run with a checkpoint belongs to another agent. */
  canResume({ run }: { readonly run: Run }): boolean {
    return run.work.checkpoint === undefined;
  }

  canRestart(): boolean {
    return true;
  }

  isIdempotent(): boolean {
    return false;
  }

  forget(): void {
    // Nothing is kept between runs.
  }
}

/**
 * Waits for the answers to what an earlier process asked. The framework starts with them: if it asked first, each process
 * would call the model again.
 */
async function waitForAnswers(run: AgentRun): Promise<void> {
  for (const { callId, name, state, approvalArguments } of run.work.calls)
    if (state === "waiting" && callId !== undefined && name !== undefined && approvalArguments !== undefined)
      await run.requestApproval({ callId, name, arguments: approvalArguments });
}
