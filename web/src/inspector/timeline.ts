/**
 * What happened when: the run, its node runs as they nest, and the tools and model calls in them, as bars on one axis of
 * time. It draws nothing.
 */
import type { TurnView } from "loom-agent/client";
import type { ElementPlace } from "loom-agent/react";
import { nameModel } from "./name-model.ts";
import type { RunIndex } from "./run-index.ts";

export type TimelineStatus = "running" | "good" | "bad" | "stopped" | "waiting";

export interface TimelineRow {
  /** Unique among the rows. */
  readonly key: string;
  readonly kind: "run" | "node" | "tool" | "call";
  readonly label: string;
  readonly depth: number;
  /** Milliseconds from the run's start; undefined where nobody told. */
  readonly start: number | undefined;
  /** Undefined while it goes on, or where nobody told. */
  readonly end: number | undefined;
  readonly status: TimelineStatus;
  /** The frame that made it, from 0. */
  readonly frame: number;
  /** Where the page shows it, if it does. */
  readonly place: ElementPlace | undefined;
}

type Sides = Pick<TurnView, "key" | "agent" | "status" | "startedAt" | "endedAt" | "nodes" | "modelCalls" | "messages">;

/** In the order one reads them: what is inside another thing follows it, and what began earlier stands higher. */
export function makeTimeline(turn: Sides, index: RunIndex, turnKey: string): TimelineRow[] {
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
    const place: ElementPlace = { turn: turnKey, kind: "node", key };
    const frame = index.findFrame(place) ?? 0;
    const [start, end] = [since(startedAt), since(endedAt)];
    put(within(parentKey), {
      key: nodeRow(key),
      kind: "node",
      label: name,
      start,
      end,
      status: NODE[status],
      frame,
      place,
    });
  }
  for (const [i, { model, status, startedAt, durationMs, id }] of turn.modelCalls.entries()) {
    const { nodeKey, frame = 0 } = index.calls[i] ?? {};
    const span = spanOf(since(startedAt), durationMs);
    put(within(nodeKey), {
      key: `call:${i}`,
      kind: "call",
      label: model === undefined ? id : nameModel(model),
      ...span,
      status: NODE[status],
      frame,
      place: undefined,
    });
  }
  for (const [i, { toolName, status, startedAt, durationMs }] of (turn.messages.at(-1)?.toolCalls ?? []).entries()) {
    const { partKey, nodeKey, frame = 0 } = index.tools[i] ?? {};
    const place: ElementPlace | undefined =
      partKey === undefined ? undefined : { turn: turnKey, kind: "part", key: partKey };
    const span = spanOf(since(startedAt), durationMs);
    put(within(nodeKey), {
      key: `tool:${i}`,
      kind: "tool",
      label: toolName,
      ...span,
      status: TOOL[status],
      frame,
      place,
    });
  }

  const place: ElementPlace = { turn: turnKey, kind: "turn", key: "" };
  const rows: TimelineRow[] = [
    {
      key: "run",
      kind: "run",
      label: turn.agent ?? "",
      depth: 0,
      start: zero === undefined ? undefined : 0,
      end: since(turn.endedAt),
      status: RUN[turn.status],
      frame: index.findFrame(place) ?? 0,
      place,
    },
  ];
  layOut(rows, inside);
  return rows;
}

/** When the last of it was over, so far. */
export function findExtent(rows: readonly TimelineRow[], lastTime: number): number {
  let extent = Math.max(lastTime, 1);
  for (const { start = 0, end = start } of rows) if (end > extent) extent = end;
  return extent;
}

/** Of the axis. What is written at a time later than this would run over its end. */
const LATEST = 0.7;

const HALF_MINUTE = 30_000;

/** Round times along an axis, at most so many: in seconds, and where it is long in minutes. */
export function makeTicks(extent: number, most: number): number[] {
  const step = findStep(extent / most);
  return Array.from({ length: Math.floor((extent * LATEST) / step) + 1 }, (_, i) => i * step);
}

/** The next round time that is no less. */
function findStep(least: number): number {
  if (least > 20_000 && least <= HALF_MINUTE) return HALF_MINUTE;
  const unit = least > HALF_MINUTE ? 2 * HALF_MINUTE : 1;
  const power = unit * 10 ** Math.floor(Math.log10(Math.max(least / unit, 1)));
  return [1, 2, 5].map((factor) => factor * power).find((each) => each >= least) ?? 10 * power;
}

const nodeRow = (key: string): string => `node:${key}`;

/** Not by recursion: node runs may nest as deep as they like. */
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
  running: "running",
  success: "good",
  failed: "bad",
  rejected: "stopped",
  interrupted: "stopped",
} as const;
