/**
 * The interface between an agent and its kind. The agent starts the run, reads the history, loads the model and ends
 * the run; the kind defines the graph and turns its final state into a reply.
 */
import type { FinishOptions } from "../engine/run-contract.ts";
import type { Channels, Graph, StateOf, WritesOf } from "../graph/index.ts";
import type { Log } from "../log/index.ts";
import type { AttachmentPart, LanguageModel, ModelMessage, ModelSettings } from "../models/model.ts";
import type { AGENT_KINDS } from "../protocol/agent-kinds.ts";
import type { Language } from "../protocol/detect-language.ts";
import type { ToolHost } from "../tools/tool-host.ts";
import type { Tool } from "../tools/tool.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import type { AgentRun } from "./agent-run.ts";
import type { OutputFormat } from "./output-format.ts";
import type { ThinkCallOptions } from "./think.ts";

/** Name of an agent kind. `foreign` is an agent of another framework. */
export type AgentKindName = (typeof AGENT_KINDS)[number] | "foreign";

/** What a kind receives for one run. */
export interface AgentContext {
  readonly sessionId: string;
  /** @internal */
  readonly run: AgentRun;
  readonly log: Log;
  /** The user's message. */
  readonly question: string;
  /** Files attached to the message. */
  readonly files: readonly AttachmentPart[];
  readonly model: LanguageModel;
  readonly toolbox: Toolbox;
  readonly system: string | undefined;
  /** The conversation before this run. */
  readonly history: readonly ModelMessage[];
  /** The structured output that the caller asked for. Only for `react`. */
  readonly output?: OutputFormat;
  readonly settings: ModelSettings;
  readonly callOptions: ThinkCallOptions;
  /** The `stage` of error events if the model fails. */
  readonly stage: string;
  /** Language of the question. */
  readonly language?: Language | undefined;
  /** See `CommonOptions`. Default: true. */
  readonly exposeToolErrors?: boolean | undefined;
  readonly onError: ((error: unknown, errorId: string) => void) | undefined;
  /** Stores tool output that is too large for an event. Undefined without blob storage. */
  readonly saveBlob: ToolHost["saveBlob"];
  /** Starts the graph, or resumes it if the run was started by a process that died. Call it once per run. */
  executeGraph<C extends Channels>(graph: Graph<C>, input: WritesOf<C>): Promise<StateOf<C>>;
}

/** The parts of an agent context that prompts are made of. */
export type QuestionContext = Pick<AgentContext, "system" | "history" | "question"> &
  Partial<Pick<AgentContext, "files">>;

/** A strategy for answering messages. */
export interface AgentKind {
  readonly name: AgentKindName;
  /** Further tools that the kind itself needs. */
  readonly tools?: readonly Tool[];
  /** Answers the question and returns how to finish the run. */
  answer(context: AgentContext): Promise<FinishOptions>;
}
