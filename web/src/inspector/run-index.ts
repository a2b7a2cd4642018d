/**
 * Which frame made what: fed with the view after each frame, it notes where every element of the run first appeared and
 * which element each frame changed. It knows views, not frames; identities tell what changed.
 *
 * Invariant: what a frame costs grows with the lists it changed, which the view has copied for it, and with nothing else.
 */
import type { MessagePart, TurnView } from "loom-agent/client";
import type { ElementPlace } from "loom-agent/react";

/** A tool call in the order of the turn's `toolCalls`. */
export interface IndexedTool {
  readonly partKey: string;
  readonly nodeKey: string | undefined;
  readonly frame: number;
}

/** A model call in the order of the turn's `modelCalls`. */
export interface IndexedCall {
  readonly nodeKey: string | undefined;
  readonly frame: number;
}

interface Entry {
  readonly key?: string;
  readonly id?: string;
}

const NO_PARTS: readonly MessagePart[] = [];

export class RunIndex {
  readonly tools: IndexedTool[] = [];
  readonly calls: IndexedCall[] = [];
  /** The frame of each checkpoint and each compression, in the order of the turn's lists. */
  readonly checkpoints: number[] = [];
  readonly compressions: number[] = [];
  readonly #turnKey: string;
  readonly #places = new Map<string, { readonly place: ElementPlace; readonly frame: number }>();
  /** The latest node run of each node_id, for calls of models, which name no node run in the view. */
  readonly #nodeKeys = new Map<string, string>();
  #before: TurnView | undefined;

  /** `turnKey` is the run's in the view of the page: what is found here is shown there. */
  constructor(turnKey: string) {
    this.#turnKey = turnKey;
  }

  /** The frame that first made an element, counted from 0; undefined where it is not known. */
  findFrame({ kind, key }: Pick<ElementPlace, "kind" | "key">): number | undefined {
    return this.#places.get(nameOf(kind, key))?.frame;
  }

  /** Takes the turn as it is after a frame, and returns the element that the frame changed. */
  note(frame: number, turn: TurnView, nodeId: string | undefined): ElementPlace | undefined {
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
    // An end closes whatever was open; what it is about is the run.
    if (isTurn) return this.#place("turn", "");
    const backtrack = before.tree?.backtracks === turn.tree?.backtracks ? undefined : turn.tree?.backtracks.at(-1);
    const cause = backtrack?.to ?? backtrack?.from;
    return (cause === undefined ? undefined : this.#place("thought", cause)) ?? node ?? thought ?? graphNode ?? part;
  }

  /** Notes what is new in a list; the first that is, or else the last that changed, is what the frame is about. */
  #compare(
    frame: number,
    kind: ElementPlace["kind"],
    before: readonly Entry[] | undefined,
    after: readonly Entry[] | undefined,
  ): ElementPlace | undefined {
    if (after === undefined || after === before) return undefined;
    const length = before?.length ?? 0;
    let made: ElementPlace | undefined;
    for (let i = Math.min(length, after.length); i < after.length; i++) {
      const entry = after[i] as Entry;
      const key = keyOf(entry);
      if (this.#places.has(nameOf(kind, key))) continue;
      const place = this.#add(frame, kind, key);
      made ??= place;
      if (kind === "part") this.#addTool(frame, entry as MessagePart);
    }
    if (made !== undefined) return made;
    for (let i = after.length - 1; i >= 0; i--)
      if (after[i] !== before?.[i]) return this.#place(kind, keyOf(after[i] as Entry));
    return undefined;
  }

  #addTool(frame: number, part: MessagePart): void {
    if (part.type === "tool") this.tools.push({ partKey: part.key, nodeKey: part.nodeKey, frame });
  }

  #add(frame: number, kind: ElementPlace["kind"], key: string): ElementPlace {
    const place: ElementPlace = { turn: this.#turnKey, kind, key };
    this.#places.set(nameOf(kind, key), { place, frame });
    return place;
  }

  #place(kind: ElementPlace["kind"], key: string): ElementPlace | undefined {
    return this.#places.get(nameOf(kind, key))?.place;
  }
}

function keyOf({ key, id }: Entry): string {
  return key ?? id ?? "";
}

function nameOf(kind: ElementPlace["kind"], key: string): string {
  return `${kind}:${key}`;
}

/** The user's own message is the turn's: its parts have keys of their own. */
function partsOf(turn: TurnView | undefined): readonly MessagePart[] {
  const message = turn?.messages.at(-1);
  return message?.role === "assistant" ? message.parts : NO_PARTS;
}
