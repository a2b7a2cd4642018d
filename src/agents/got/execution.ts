/** Shared state of the thoughts of one graph: limits, scheduler and results. */
import type { NodeContext } from "../../graph/index.ts";
import type { PartContext } from "../../graph/graph.ts";
import type { GotNodeCompleteEvent } from "../../protocol/events.generated.ts";
import type { AgentContext } from "../agent-kind.ts";
import { fitTexts } from "../fit-results.ts";
import type { GotLimits } from "./got-settings.ts";
import type { MissingNodes } from "./missing-nodes.ts";
import { type Plan, type PlanNode, toLabel } from "./plan.ts";
import type { KnownResult } from "./prompts.ts";
import type { Scheduler } from "./scheduler.ts";

export interface GotContext extends AgentContext {
  readonly limits: GotLimits;
}

export interface Execution {
  readonly context: GotContext;
  /** The node run that executes the graph. */
  readonly node: PartContext & Pick<NodeContext, "signal" | "ready" | "endedCalls">;
  readonly scheduler: Scheduler;
  /** Results by node ID, expansions included. */
  readonly results: Map<string, string>;
  /** The best score of each node that scored results. */
  readonly scores: Map<string, number>;
  /** All nodes that were run, by ID. */
  readonly planned: Map<string, PlanNode>;
  /** Nodes without a result, by the ID of the node they belong to: itself and nodes inside it. */
  readonly missing: Map<string, MissingNodes>;
  /** Expansions by node ID, remembered or new. */
  readonly expansions: Map<string, Plan>;
  /** Why the first failed node failed. */
  firstFault: string | undefined;
  /** Number of nodes planned so far, expansions included. */
  total: number;
}

/** The text of a thought and further fields of its event. */
export type ThoughtOutcome = { readonly text: string; readonly score?: number } & Partial<
  Pick<GotNodeCompleteEvent, "result_summary" | "scored" | "scores">
>;

/** Maximum characters of known results in a prompt. */
const MAX_KNOWN_CHARACTERS = 200_000;

/** The results of these nodes, for the prompt of a node that needs them. */
export function listKnownResults(
  nodes: readonly PlanNode[],
  results: ReadonlyMap<string, string>,
): readonly KnownResult[] {
  return nodes.map(({ id, task }) => ({ id, task: toLabel(task), text: results.get(id) ?? "" }));
}

export function fitKnownResults(known: readonly KnownResult[]): readonly KnownResult[] {
  const fitted = fitTexts(
    known.map(({ text }) => text),
    MAX_KNOWN_CHARACTERS,
  );
  return known.map((one, index) => ({ ...one, text: fitted[index] ?? "" }));
}
