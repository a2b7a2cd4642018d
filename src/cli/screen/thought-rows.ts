/** Formats the thoughts of a run: the tree or the graph of a search, and one line about its progress. */
import type { GraphView, TreeView, TurnView } from "../../client/index.ts";
import type { GraphNodeView, ThoughtView } from "../../client/view.ts";
import { cutColumns, formatDuration, plural } from "../fit-text.ts";
import type { PaintText } from "./text-rows.ts";

/** Rows of a tree or graph; a search may have thousands of thoughts. */
const MAX_ROWS = 300;
/** Siblings shown that were dropped at once. */
const SHOWN_DROPPED = 2;
/** Reasons shown of backtracking. */
const MAX_REASONS = 5;
const MAX_DEPTH = 12;

const THOUGHT_SIGNS = { open: "○", kept: "●", pruned: "·", abandoned: "×" } as const;
const NODE_SIGNS = { planned: "○", running: "◐", complete: "●", failed: "✗", skipped: "–", interrupted: "×" } as const;

/** Returns undefined if the run has no thoughts. */
export function formatThoughts(turn: TurnView, width: number, paint: PaintText): readonly string[] | undefined {
  const { tree, graph } = turn;
  if (tree === undefined && graph === undefined) return undefined;
  const rows = [
    ...(tree === undefined ? [] : formatTree(tree, width, paint)),
    ...(graph === undefined ? [] : formatGraph(graph, width, paint)),
  ];
  const left = rows.length - MAX_ROWS;
  return left <= 0 ? rows : [...rows.slice(0, MAX_ROWS), paint("dim", `… ${plural(left, "more row")}`)];
}

/** One line while a search runs. */
export function summarizeThoughts({ tree, graph }: TurnView): string | undefined {
  if (graph !== undefined) {
    const done = graph.nodes.filter(({ status }) => status === "complete").length;
    const running = graph.nodes.filter(({ status }) => status === "running").map(({ id, label = id }) => label);
    return `graph: ${done} of ${plural(graph.nodes.length, "task")}${running.length === 0 ? "" : `, running ${running.join(", ")}`}`;
  }
  if (tree === undefined) return undefined;
  const best = tree.thoughts.find(({ id }) => id === tree.chosen);
  const depth = tree.thoughts.reduce((deepest, thought) => Math.max(deepest, thought.depth), 0);
  const found = best === undefined ? "" : `, best${formatScore(best.score)} ${best.text}`;
  return `tree: ${plural(tree.thoughts.length, "thought")}, depth ${depth}${found}`;
}

/** Thoughts that were dropped at once, and of which only the number is shown. */
interface DroppedThoughts {
  readonly dropped: number;
  readonly depth: number;
}

function formatTree({ thoughts, path, backtracks }: TreeView, width: number, paint: PaintText): readonly string[] {
  const children = Map.groupBy(thoughts, ({ parent }) => parent);
  const known = new Set(thoughts.map(({ id }) => id));
  const chosen = new Set(path);
  const rows: string[] = [];
  const seen = new Set<string>();
  const roots = thoughts.filter(({ parent }) => parent === undefined || !known.has(parent));
  const open = leaveOutDropped(roots, children).toReversed();
  // A loop, because a hostile stream may nest thoughts deeper than the call stack.
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if ("dropped" in next) {
      rows.push(paint("dim", cutColumns(`${indentOf(next, width)}… ${next.dropped} dropped`, width)));
      continue;
    }
    if (seen.has(next.id)) continue;
    seen.add(next.id);
    rows.push(formatThought(next, chosen.has(next.id), width, paint));
    open.push(...leaveOutDropped(children.get(next.id) ?? [], children).toReversed());
  }
  const reasons = [...new Set(backtracks.map(({ reason, toDepth }) => `↩ to depth ${toDepth}: ${flatten(reason)}`))];
  const left = reasons.length - MAX_REASONS;
  return [
    paint("bold", `Tree of ${plural(thoughts.length, "thought")}`),
    ...rows,
    ...(backtracks.length === 0 ? [] : [paint("dim", plural(backtracks.length, "backtrack"))]),
    ...reasons.slice(0, MAX_REASONS).map((text) => paint("dim", cutColumns(text, width))),
    ...(left > 0 ? [paint("dim", `… ${plural(left, "more reason")}`)] : []),
  ];
}

/** Keeps the best of the siblings that were dropped without being explored. */
function leaveOutDropped(
  siblings: readonly ThoughtView[],
  children: ReadonlyMap<string | undefined, readonly ThoughtView[]>,
): readonly (ThoughtView | DroppedThoughts)[] {
  const dropped = siblings
    .filter(({ id, status }) => status === "pruned" && !children.has(id))
    .toSorted((one, other) => (other.score ?? 0) - (one.score ?? 0));
  const left = new Set(dropped.slice(SHOWN_DROPPED));
  const [first] = left;
  if (first === undefined) return siblings;
  return [...siblings.filter((thought) => !left.has(thought)), { dropped: left.size, depth: first.depth }];
}

function indentOf({ depth }: Pick<ThoughtView, "depth">, width: number): string {
  return "  ".repeat(Math.min(depth, MAX_DEPTH, Math.floor(width / 8)));
}

function formatThought(thought: ThoughtView, isChosen: boolean, width: number, paint: PaintText): string {
  const { text, status, score } = thought;
  const line = cutColumns(
    `${indentOf(thought, width)}${THOUGHT_SIGNS[status]}${formatScore(score)} ${flatten(text)}`,
    width,
  );
  if (isChosen) return paint("green", line);
  return status === "pruned" || status === "abandoned" ? paint("dim", line) : line;
}

function formatGraph({ nodes, edges }: GraphView, width: number, paint: PaintText): readonly string[] {
  const needs = Map.groupBy(edges, ([, to]) => to);
  const rows = nodes.flatMap((node) => {
    const from = (needs.get(node.id) ?? []).map(([id]) => id);
    const after = from.length === 0 ? "" : ` ← ${from.join(", ")}`;
    const { label = "", summary = node.error ?? "" } = node;
    // A text that begins with a heading.
    const shown = flatten(summary.replace(/^#{1,6} /, ""));
    const { startedAt, endedAt } = node;
    const time = startedAt === undefined || endedAt === undefined ? "" : ` (${formatDuration(endedAt - startedAt)})`;
    const line = cutColumns(`${NODE_SIGNS[node.status]} ${node.id} ${flatten(label)}${after}${time}`, width);
    const isNew = shown !== "" && shown !== flatten(label);
    const detail = isNew ? [paint("dim", cutColumns(`    ${shown}`, width))] : [];
    return [paintNode(node, line, paint), ...detail];
  });
  return [paint("bold", `Graph of ${plural(nodes.length, "task")}`), ...rows];
}

function paintNode({ status }: GraphNodeView, line: string, paint: PaintText): string {
  if (status === "failed") return paint("red", line);
  return status === "complete" ? paint("green", line) : line;
}

function formatScore(score: number | undefined): string {
  return score === undefined ? "" : ` ${score.toFixed(2)}`;
}

function flatten(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
