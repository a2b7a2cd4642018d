/**
 * The interface between an agent and its kind. The agent starts the run, reads the history, loads the model and ends
 * the run; the kind defines the graph and turns its final state into a reply.
 */
import type { Prompt } from "../context/compression/prompt-tokens.ts";
import type { NodeRun } from "../engine/index.ts";
import type { FinishOptions } from "../engine/run-contract.ts";
import type { PushResult } from "../engine/sequencer.ts";
import type { Channels, Graph, StateOf, WritesOf } from "../graph/index.ts";
import type { Log } from "../log/index.ts";
import type { AttachmentPart, LanguageModel, ModelCallOptions, ModelMessage, ModelSettings } from "../models/model.ts";
import type { AGENT_KINDS } from "../protocol/agent-kinds.ts";
import type { Language } from "../protocol/detect-language.ts";
import type { ToolCallEvent } from "../protocol/events.generated.ts";
import type { JsonObject, LoomEvent } from "../protocol/index.ts";
import type { ToolHost } from "../tools/tool-host.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import type { AgentRun } from "./agent-run.ts";
import type { Attachments } from "./attachments.ts";
import type { ContentRecorder } from "./content-recorder.ts";
import type { OutputFormat } from "./output-format.ts";

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
  readonly callOptions: Omit<ModelCallOptions, "signal">;
  /** Models to call in turn if a model refuses, fails or times out before it has sent anything. */
  readonly fallbacks: readonly LanguageModel[];
  /** Makes a prompt fit the context window and records what it did within the span. */
  readonly fit?: ((prompt: Prompt, context: FitContext) => Promise<readonly ModelMessage[]>) | undefined;
  readonly attachments: Pick<Attachments, "resolve" | "omitFiles">;
  /** Records what the model is sent and what it returns. Default: nothing is recorded. */
  readonly recorder?: ContentRecorder | undefined;
  /** Describes a call for the user. Empty for tools that the model made up. */
  readonly describeCall: (name: string, input: JsonObject) => Pick<ToolCallEvent, "description" | "server">;
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

export interface FitContext {
  readonly span: NodeRun;
  /** Writes an event within the span. */
  readonly post: (event: LoomEvent) => PushResult;
  readonly signal: AbortSignal;
}

/** The parts of an agent context that prompts are made of. */
export type QuestionContext = Pick<AgentContext, "system" | "history" | "question"> &
  Partial<Pick<AgentContext, "files">>;

/** A strategy for answering messages. */
export interface AgentKind {
  readonly name: AgentKindName;
  /** Creates the structured output of a run, if all replies of the agent have one. */
  readonly createOutput?: (() => OutputFormat) | undefined;
  /** Answers the question and returns how to finish the run. */
  answer(context: AgentContext): Promise<FinishOptions>;
}
