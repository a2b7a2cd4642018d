/**
 * A way of going about a question, and what it is given to do so. The agent around it starts the run, reads the history,
 * loads the model and ends the run; a kind says which graph there is, and what came of it.
 */
import type { FinishOptions, Run } from "../engine/index.ts";
import type { Channels, Graph, StateOf, WritesOf } from "../graph/index.ts";
import type { AttachmentPart, LanguageModel, ModelMessage, ModelSettings } from "../models/model.ts";
import type { ToolHost } from "../tools/tool-host.ts";
import type { Tool } from "../tools/tool.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import type { ThinkCallOptions } from "./think.ts";

export const AGENT_KINDS = ["react", "tot", "got"] as const;

export type AgentKindName = (typeof AGENT_KINDS)[number];

/** What one run needs beside its state. */
export interface AgentContext {
  readonly sessionId: string;
  readonly run: Pick<
    Run,
    "runId" | "toolRules" | "post" | "isBehind" | "ready" | "now" | "requestApproval" | "closeCalls" | "work"
  >;
  /** What the user has said. */
  readonly question: string;
  /** What came with it. */
  readonly files: readonly AttachmentPart[];
  readonly model: LanguageModel;
  readonly toolbox: Toolbox;
  readonly system: string | undefined;
  /** The conversation before this run. */
  readonly history: readonly ModelMessage[];
  readonly settings: ModelSettings;
  readonly callOptions: ThinkCallOptions;
  /** Where a failing model is said to have failed. */
  readonly stage: string;
  readonly onError: ((error: unknown, errorId: string) => void) | undefined;
  /** Keeps what a tool has made and no event can hold; undefined where there is no place for it. */
  readonly saveBlob: ToolHost["saveBlob"];
  /** Begins the graph, or goes on with it where the process died that had begun it. A run has one. */
  carryOut<C extends Channels>(graph: Graph<C>, input: WritesOf<C>): Promise<StateOf<C>>;
}

export interface AgentKind {
  readonly name: AgentKindName;
  /** Tools of its own, beside those it was given. */
  readonly tools?: readonly Tool[];
  /** Answers the question; what it gives is how the run is finished. */
  answer(context: AgentContext): Promise<FinishOptions>;
}
