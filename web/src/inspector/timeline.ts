/** Builds the rows of the timeline: the run, its nested node runs, and their tool and model calls. It draws nothing. */
import type { TurnView } from "loom-agent/client";
import type { ElementTarget } from "../../../src/react/page-parts.ts";
import { nameModel } from "./list-calls.ts";
import type { RunIndex } from "./run-index.ts";

export type TimelineStatus = "running" | "good" | "bad" | "stopped" | "waiting";

export interface TimelineRow {
  /** Unique among the rows. */
  readonly key: string;
  readonly kind: "run" | "node" | "tool" | "call";
  readonly label: string;
  readonly depth: number;
  /** Milliseconds from the start of the run; undefined if unknown. */
  readonly start: number | undefined;
  /** Undefined while it is running, or if unknown. */
  readonly end: number | undefined;
  readonly status: TimelineStatus;
  /** Frame that created it, counted from 0. */
  readonly frame: number;
  /** Element in the conversation, if it is shown there. */
  readonly target: ElementTarget | undefined;
}

type TimelineTurn = Pick<
  TurnView,
  "key" | "agent" | "status" | "startedAt" | "endedAt" | "nodes" | "modelCalls" | "messages"
>;

/** Depth-first: children follow their parent, earlier ones first. */
export function buildTimeline(turn: TimelineTurn, index: RunIndex, turnKey: string): TimelineRow[] {
  const zero = turn.startedAt;
  const since = (ts: number | undefined): number | undefined =>
    ts === undefined || zero === undefined ? undefined : ts - zero;
  const inside = new Map<string | undefined, Omit<TimelineRow, "depth">[]>();
  const put = (parent: string | undefined, row: Omit<TimelineRow, "depth">): void => {
    const rows = inside.get(parent);
    if (rows === undefined) inside.set(parent, [row]);
    else rows.push(row);
  };
  const known = new Set(turn.nodes.map(({ key }) => key));
  const within = (key: string | undefined): string | undefined =>
    key !== undefined && known.has(key) ? nodeRow(key) : undefined;

  for (const { key, parentKey, name, status, startedAt, endedAt } of turn.nodes) {
    const target: ElementTarget = { turn: turnKey, kind: "node", key };
    const frame = index.findFrame(target) ?? 0;
    const [start, end] = [since(startedAt), since(endedAt)];
    put(within(parentKey), {
      key: nodeRow(key),
      kind: "node",
      label: name,
      start,
      end,
      status: NODE[status],
      frame,
      target,
    });
  }
  for (const [i, { model, status, startedAt, durationMs }] of turn.modelCalls.entries()) {
    const { nodeKey, frame = 0 } = index.calls[i] ?? {};
    const span = spanOf(since(startedAt), durationMs);
    put(within(nodeKey), {
      key: `call:${i}`,
      kind: "call",
      label: model === undefined ? "" : nameModel(model),
      ...span,
      status: NODE[status],
      frame,
      target: undefined,
    });
  }
  for (const [i, { toolName, status, startedAt, durationMs }] of (turn.messages.at(-1)?.toolCalls ?? []).entries()) {
    const { partKey, nodeKey, frame = 0 } = index.tools[i] ?? {};
    const target: ElementTarget | undefined =
      partKey === undefined ? undefined : { turn: turnKey, kind: "part", key: partKey };
    const span = spanOf(since(startedAt), durationMs);
    put(within(nodeKey), {
      key: `tool:${i}`,
      kind: "tool",
      label: toolName,
      ...span,
      status: TOOL[status],
      frame,
      target,
    });
  }

  const target: ElementTarget = { turn: turnKey, kind: "turn", key: "" };
  const rows: TimelineRow[] = [
    {
      key: "run",
      kind: "run",
      label: turn.agent ?? "",
      depth: 0,
      start: zero === undefined ? undefined : 0,
      end: since(turn.endedAt),
      status: RUN[turn.status],
      frame: index.findFrame(target) ?? 0,
      target,
    },
  ];
  layOut(rows, inside);
  return rows;
}

/** Returns the end of the axis: the latest time so far. */
export function findExtent(rows: readonly TimelineRow[], lastTime: number): number {
  let extent = Math.max(lastTime, 1);
  for (const { start = 0, end = start } of rows) if (end > extent) extent = end;
  return extent;
}

/** Share of the axis. Labels of later ticks would overflow its end. */
const MAX_TICK = 0.7;

const HALF_MINUTE = 30_000;

/** Returns round times along the axis, at most `most`: in seconds, or in minutes if it is long. */
export function listTicks(extent: number, most: number): number[] {
  const step = findStep(extent / most);
  return Array.from({ length: Math.floor((extent * MAX_TICK) / step) + 1 }, (_, i) => i * step);
}

/** Returns the next round time that is at least `least`. */
function findStep(least: number): number {
  if (least > 20_000 && least <= HALF_MINUTE) return HALF_MINUTE;
  const unit = least > HALF_MINUTE ? 2 * HALF_MINUTE : 1;
  const power = unit * 10 ** Math.floor(Math.log10(Math.max(least / unit, 1)));
  return [1, 2, 5].map((factor) => factor * power).find((each) => each >= least) ?? 10 * power;
}

const nodeRow = (key: string): string => `node:${key}`;

/** Iterative, because node runs may nest to any depth. */
function layOut(rows: TimelineRow[], inside: Map<string | undefined, Omit<TimelineRow, "depth">[]>): void {
  const open = [{ list: sortRows(inside.get(undefined)), at: 0, depth: 1 }];
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const row = top.list[top.at++];
    if (row === undefined) {
      open.pop();
      continue;
    }
    rows.push({ ...row, depth: top.depth });
    if (inside.has(row.key)) open.push({ list: sortRows(inside.get(row.key)), at: 0, depth: top.depth + 1 });
  }
}

function sortRows(rows: Omit<TimelineRow, "depth">[] = []): Omit<TimelineRow, "depth">[] {
  return rows.sort((a, b) => a.frame - b.frame);
}

function spanOf(start: number | undefined, durationMs: number | undefined): Pick<TimelineRow, "start" | "end"> {
  return { start, end: start === undefined || durationMs === undefined ? undefined : start + durationMs };
}

const RUN = { running: "running", completed: "good", error: "bad", cancelled: "stopped" } as const;
const NODE = { running: "running", ok: "good", failed: "bad", interrupted: "stopped" } as const;
const TOOL = {
  streaming: "running",
  ready: "waiting",
  awaiting_approval: "waiting",
  awaiting_client: "waiting",
  running: "running",
  success: "good",
  failed: "bad",
  rejected: "stopped",
  interrupted: "stopped",
} as const;
