/**
 * Index of a run: the frame that created each element, and the element that each frame changed. It compares the view
 * before and after each frame and knows nothing about frame contents.
 *
 * Invariant: the cost of a frame depends only on the lists that it changed.
 */
import type { MessagePart, TurnView } from "loom-agent/client";
import type { ElementTarget } from "../../../src/react/page-parts.ts";

/** A tool call, in the order of the turn's `toolCalls`. */
export interface IndexedTool {
  readonly partKey: string;
  readonly nodeKey: string | undefined;
  readonly frame: number;
}

/** A model call, in the order of the turn's `modelCalls`. */
export interface IndexedCall {
  readonly nodeKey: string | undefined;
  readonly frame: number;
}

interface IndexedElement {
  readonly key?: string;
  readonly id?: string;
}

const NO_PARTS: readonly MessagePart[] = [];

export class RunIndex {
  readonly tools: IndexedTool[] = [];
  readonly calls: IndexedCall[] = [];
  /** Frame of each checkpoint and each compression, in the order of the turn's lists. */
  readonly checkpoints: number[] = [];
  readonly compressions: number[] = [];
  readonly #turnKey: string;
  readonly #targets = new Map<string, { readonly target: ElementTarget; readonly frame: number }>();
  /** Latest node run of each node_id. Model calls have no node run in the view. */
  readonly #nodeKeys = new Map<string, string>();
  #before: TurnView | undefined;

  /** `turnKey`: key of the turn in the page's view, so that targets can be shown there. */
  constructor(turnKey: string) {
    this.#turnKey = turnKey;
  }

  /** Returns the frame that created an element, counted from 0; undefined if unknown. */
  findFrame({ kind, key }: Pick<ElementTarget, "kind" | "key">): number | undefined {
    return this.#targets.get(formatKey(kind, key))?.frame;
  }

  /** Records the turn after a frame and returns the element that the frame changed. */
  record(frame: number, turn: TurnView, nodeId: string | undefined): ElementTarget | undefined {
    const before = this.#before;
    if (turn === before) return undefined;
    this.#before = turn;
    const isTurn = before === undefined || before.status !== turn.status;
    if (before === undefined) this.#add(frame, "turn", "");
    const node = this.#compare(frame, "node", before?.nodes, turn.nodes);
    const thought = this.#compare(frame, "thought", before?.tree?.thoughts, turn.tree?.thoughts);
    const graphNode = this.#compare(frame, "graph-node", before?.graph?.nodes, turn.graph?.nodes);
    const part = this.#compare(frame, "part", partsOf(before), partsOf(turn));
    for (const { nodeId: id, key } of turn.nodes.slice(before?.nodes.length ?? 0))
      if (id !== undefined) this.#nodeKeys.set(id, key);
    const nodeKey = nodeId === undefined ? undefined : this.#nodeKeys.get(nodeId);
    for (let i = this.calls.length; i < turn.modelCalls.length; i++) this.calls.push({ nodeKey, frame });
    for (let i = this.checkpoints.length; i < turn.checkpoints.length; i++) this.checkpoints.push(frame);
    for (let i = this.compressions.length; i < turn.compressions.length; i++) this.compressions.push(frame);
    // A status change also closes open elements. The frame is about the run.
    if (isTurn) return this.#find("turn", "");
    const backtrack = before.tree?.backtracks === turn.tree?.backtracks ? undefined : turn.tree?.backtracks.at(-1);
    const cause = backtrack?.to ?? backtrack?.from;
    return (cause === undefined ? undefined : this.#find("thought", cause)) ?? node ?? thought ?? graphNode ?? part;
  }

  /** Indexes new elements of a list. Returns the first new element, else the last changed one. */
  #compare(
    frame: number,
    kind: ElementTarget["kind"],
    before: readonly IndexedElement[] | undefined,
    after: readonly IndexedElement[] | undefined,
  ): ElementTarget | undefined {
    if (after === undefined || after === before) return undefined;
    const length = before?.length ?? 0;
    let added: ElementTarget | undefined;
    for (let i = Math.min(length, after.length); i < after.length; i++) {
      const entry = after[i] as IndexedElement;
      const key = keyOf(entry);
      if (this.#targets.has(formatKey(kind, key))) continue;
      const target = this.#add(frame, kind, key);
      added ??= target;
      if (kind === "part") this.#addTool(frame, entry as MessagePart);
    }
    if (added !== undefined) return added;
    for (let i = after.length - 1; i >= 0; i--)
      if (after[i] !== before?.[i]) return this.#find(kind, keyOf(after[i] as IndexedElement));
    return undefined;
  }

  #addTool(frame: number, part: MessagePart): void {
    if (part.type === "tool") this.tools.push({ partKey: part.key, nodeKey: part.nodeKey, frame });
  }

  #add(frame: number, kind: ElementTarget["kind"], key: string): ElementTarget {
    const target: ElementTarget = { turn: this.#turnKey, kind, key };
    this.#targets.set(formatKey(kind, key), { target, frame });
    return target;
  }

  #find(kind: ElementTarget["kind"], key: string): ElementTarget | undefined {
    return this.#targets.get(formatKey(kind, key))?.target;
  }
}

function keyOf({ key, id }: IndexedElement): string {
  return key ?? id ?? "";
}

function formatKey(kind: ElementTarget["kind"], key: string): string {
  return `${kind}:${key}`;
}

/** Parts of the user's message have separate keys. */
function partsOf(turn: TurnView | undefined): readonly MessagePart[] {
  const message = turn?.messages.at(-1);
  return message?.role === "assistant" ? message.parts : NO_PARTS;
}

/**
 * Maps the element of a frame to one that the conversation shows. The conversation does not show node runs: a node run
 * maps to its graph node, else to its first part, else to the run. Other elements are returned unchanged.
 */
export function findShownTarget(turn: TurnView | undefined, target: ElementTarget): ElementTarget {
  if (target.kind !== "node") return target;
  const name = turn?.nodes.find(({ key }) => key === target.key)?.name;
  if (turn?.graph?.nodes.some(({ id }) => id === name) === true)
    return { turn: target.turn, kind: "graph-node", key: name ?? "" };
  const part = turn?.messages.at(-1)?.parts.find(({ nodeKey }) => nodeKey === target.key);
  return part === undefined
    ? { turn: target.turn, kind: "turn", key: "" }
    : { turn: target.turn, kind: "part", key: part.key };
}
