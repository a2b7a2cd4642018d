/**
 * Determines the current stage of a run from its view. It reads only the ends of long lists, so its cost does not grow
 * with the run.
 */
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import type { GraphView, ToolCall, TurnView } from "../../client/index.ts";
import type { MessageView, NodeRunView } from "../../client/view.ts";
import { describeCall } from "../parts/describe-action.ts";

/** What a run is doing now. */
export type Stage =
  | { readonly kind: "starting" | "planning" | "retrieving" | "answering" | "finishing" | "working" }
  /** `stage` is the stream's name for it, such as `reasoning`, `planning` or `analyzing`; `node` is the running node. */
  | { readonly kind: "thinking"; readonly stage?: string; readonly node?: string }
  /** A call awaits approval; `tool` says what it will do, `others` counts further calls that wait. */
  | { readonly kind: "approval"; readonly tool: string; readonly callId: string; readonly others: number }
  | {
      /** `preparing`: the model is still writing the arguments; `client`: the run waits for a result of the client. */
      readonly kind: "preparing" | "calling" | "client";
      readonly tool: string;
      readonly callId: string;
      readonly others: number;
      readonly progress?: number;
      readonly message?: string;
    }
  | {
      /** Searching the tree: expanding thoughts, evaluating them, or backtracking. */
      readonly kind: "expanding" | "judging" | "backtracking" | "searching";
      readonly depth: number;
      readonly thoughts: number;
    }
  /** Running nodes of the graph, latest first; `more` counts those not named. */
  | {
      readonly kind: "graph";
      readonly nodes: readonly string[];
      readonly more: number;
      readonly done: number;
      readonly total: number;
    };

/** Entries of each list that are searched, from its end. */
const LOOK_BACK = 64;
const NAMED_NODES = 2;

/** Returns the current stage of a run, or undefined if the run has ended. */
export function findStage(turn: TurnView): Stage | undefined {
  if (turn.status !== "running") return undefined;
  const message = turn.messages.findLast(({ role }) => role === "assistant");
  const call = message && findCall(message);
  if (call !== undefined) return call;
  const node = findLast(turn.nodes, ({ status }) => status === "running");
  const latest = message?.parts.at(-1);
  // The next attempt has not written anything yet.
  const part = latest?.supersededBy === undefined ? latest : undefined;
  if (part?.type === "text" && !part.isComplete) return { kind: "answering" };
  const isAsking = turn.modelCalls.at(-1)?.status === "running";
  if (part?.type === "text" && !isAsking && (node === undefined || turn.modelCalls.length > 0))
    return { kind: "finishing" };
  if (node?.name === "answer") return { kind: "answering" };
  if (node !== undefined && /^retriev/i.test(node.name)) return { kind: "retrieving" };
  if (turn.graph !== undefined) return findGraphStage(turn.graph) ?? { kind: "working" };
  if (node?.name === "plan_graph") return { kind: "planning" };
  if (turn.tree !== undefined || node?.name === "think_expand") return findTreeStage(turn, node);
  if (part?.type === "thinking" && !part.isComplete)
    return dropUndefined({ kind: "thinking", stage: part.stage, ...(node === undefined ? {} : { node: node.name }) });
  if (isAsking || node?.name === "think")
    return { kind: "thinking", ...(node === undefined ? {} : { node: node.name }) };
  return message === undefined || message.parts.length === 0 ? { kind: "starting" } : { kind: "working" };
}

/** Pending approvals come first, then running calls, then calls of the client, then calls being prepared. */
function findCall({ toolCalls }: MessageView): Stage | undefined {
  const recent = toolCalls.slice(-LOOK_BACK);
  const awaiting = recent.filter(({ status }) => status === "awaiting_approval");
  const [first] = awaiting;
  if (first !== undefined)
    return { kind: "approval", tool: describeCall(first), callId: first.toolId, others: awaiting.length - 1 };
  const running = recent.filter(({ status }) => status === "running");
  const call = running.at(-1);
  if (call !== undefined) return describeStep("calling", call, running.length - 1);
  const handed = recent.filter(({ status }) => status === "awaiting_client");
  const atClient = handed.at(-1);
  if (atClient !== undefined) return describeStep("client", atClient, handed.length - 1);
  const made = recent.filter(({ status }) => status === "streaming" || status === "ready");
  const last = made.at(-1);
  return last && describeStep("preparing", last, made.length - 1);
}

function describeStep(kind: "calling" | "client" | "preparing", call: ToolCall, others: number): Stage {
  const { toolId, toolName, status, progress, progressMessage } = call;
  return dropUndefined({
    kind,
    // Announced once: the description arrives after the arguments.
    tool: describeCall(kind === "preparing" ? { toolName, status } : call),
    callId: toolId,
    others,
    progress,
    message: progressMessage,
  });
}

const TREE_STEPS: { readonly [node: string]: "expanding" | "judging" | "backtracking" } = {
  think_expand: "expanding",
  think_evaluate: "judging",
  value: "judging",
  backtrack: "backtracking",
};

function findTreeStage({ tree }: TurnView, node: NodeRunView | undefined): Stage {
  const thoughts = tree?.thoughts ?? [];
  const kind = (node && TREE_STEPS[node.name]) ?? "searching";
  return { kind, depth: thoughts.at(-1)?.depth ?? 0, thoughts: thoughts.length };
}

/** Nodes run in any order, so all are counted; the last ones are named. Graphs change far less often than text. */
function findGraphStage({ nodes }: GraphView): Stage | undefined {
  const counted = countNodes(nodes);
  // Between two steps no node runs, but the graph is still in progress.
  if (counted.running.length === 0 && counted.done === nodes.length) return undefined;
  const named = counted.running.slice(-NAMED_NODES).toReversed();
  return {
    kind: "graph",
    nodes: named,
    more: counted.running.length - named.length,
    done: counted.done,
    total: nodes.length,
  };
}

interface NodeCounts {
  readonly running: readonly string[];
  readonly done: number;
}

/** Cached per list: tokens do not change the node list. */
const COUNTED = new WeakMap<GraphView["nodes"], NodeCounts>();

function countNodes(nodes: GraphView["nodes"]): NodeCounts {
  const known = COUNTED.get(nodes);
  if (known !== undefined) return known;
  const running = nodes.filter(({ status }) => status === "running").map(({ id, label }) => label ?? id);
  const done = nodes.filter(({ status }) => status !== "running" && status !== "planned").length;
  const counted: NodeCounts = { running, done };
  COUNTED.set(nodes, counted);
  return counted;
}

function findLast<T>(list: readonly T[], is: (entry: T) => boolean): T | undefined {
  for (let at = list.length - 1; at >= Math.max(0, list.length - LOOK_BACK); at--) {
    const entry = list[at] as T;
    if (is(entry)) return entry;
  }
  return undefined;
}
