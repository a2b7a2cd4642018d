/**
 * Joins characters that a sender split over two pieces of a text, and repairs texts that contain half a character. A
 * character outside the Basic Multilingual Plane is a pair of surrogates in UTF-16; an unpaired one has no UTF-8 form.
 *
 * Invariant: the pieces of a text that were joined, one after another, are `toWellFormed()` of the pieces that were
 * given. A text costs the same per piece, however long it is.
 */
import { BoundedMap } from "./bounded-map.ts";
import { slotOf } from "./call-keys.ts";
import { repairJson } from "./json.ts";
import type { AnyEvent, EventOf } from "./record.ts";

/** The field that has a piece of a longer text, by event type. */
const PIECES: { readonly [type: string]: "content" | "arguments_delta" | undefined } = {
  message_chunk: "content",
  reasoning_chunk: "content",
  tool_call_chunk: "arguments_delta",
  tool_output: "content",
};

const REPLACEMENT = "\ufffd";

/** Per run. Beyond it, the half that waits longest is dropped. */
const MAX_WAITING = 10_000;

/** An event and the node run it belongs to. */
export interface TextEvent {
  readonly event: AnyEvent;
  readonly nodeId: string | undefined;
}

/** The first half of a character, the event it came with, and its text. */
interface Waiting extends TextEvent {
  readonly key: string;
  readonly half: string;
}

/** Repairs the names and values of an event, except a piece of a longer text: it may end inside a character. */
export function repairEvent(event: AnyEvent): AnyEvent {
  const repaired = repairJson(event);
  const field = fieldOf(event);
  const piece = field === undefined ? undefined : (event as { readonly [field: string]: unknown })[field];
  return field === undefined || piece === undefined ? repaired : ({ ...repaired, [field]: piece } as AnyEvent);
}

/** Joins the texts of one run. */
export class TextJoiner {
  readonly #waiting = new BoundedMap<Waiting>(MAX_WAITING);
  /** The call of the last argument chunk with a call ID, by node run and index. */
  readonly #calls = new BoundedMap<string>(MAX_WAITING);

  /** Returns the event with the half that waited before its text, and without half a character at its end. */
  join(event: AnyEvent, nodeId: string | undefined): AnyEvent {
    const field = fieldOf(event);
    if (field === undefined) return event;
    if (event.type === "tool_call_chunk") this.#noteCall(event as EventOf<"tool_call_chunk">, nodeId);
    const given = (event as { readonly [field: string]: string })[field] as string;
    if (this.#waiting.size === 0 && given.isWellFormed()) return event;
    const key = this.#keyOf(event, nodeId);
    let text = (this.#waiting.get(key)?.half ?? "") + given;
    this.#waiting.delete(key);
    const isLast = event.type === "message_chunk" && (event as EventOf<"message_chunk">).is_complete === true;
    if (!isLast && /[\ud800-\udbff]$/.test(text)) {
      this.#waiting.set(key, { key, event, nodeId, half: text.slice(-1) });
      text = text.slice(0, -1);
    }
    return { ...event, [field]: text.toWellFormed() };
  }

  /** Returns what is left of the texts that the event ends. Write it before the event. */
  endedBy(event: AnyEvent, nodeId: string | undefined): readonly TextEvent[] {
    return this.#waiting.size === 0 ? NOTHING : this.#take((each) => this.#ends(event, nodeId, each));
  }

  /** Returns what is left of all texts. */
  end(): readonly TextEvent[] {
    return this.#waiting.size === 0 ? NOTHING : this.#take(() => true);
  }

  #take(isTaken: (waiting: Waiting) => boolean): readonly TextEvent[] {
    const taken = [...this.#waiting.values()].filter(isTaken);
    return taken.map(({ key, event, nodeId }) => {
      this.#waiting.delete(key);
      return { event: { ...event, [fieldOf(event) ?? ""]: REPLACEMENT }, nodeId };
    });
  }

  #ends(event: AnyEvent, nodeId: string | undefined, waiting: Waiting): boolean {
    switch (event.type) {
      case "run_end":
      case "reply":
        return true;
      case "node_exit":
        if (nodeId !== undefined || waiting.nodeId !== undefined) return nodeId === waiting.nodeId;
        return (waiting.event as EventOf<"message_chunk">).id === (event as EventOf<"node_exit">).id;
      case "reasoning_end":
        return waiting.event.type === "reasoning_chunk" && nodeId === waiting.nodeId;
      case "tool_call":
      case "tool_start":
        return waiting.key === `tool_call_chunk\n${this.#callOf(event, nodeId)}`;
      case "tool_end": {
        const call = this.#callOf(event, nodeId);
        return waiting.key === `tool_call_chunk\n${call}` || waiting.key === `tool_output\n${call}`;
      }
      default:
        return false;
    }
  }

  #keyOf(event: AnyEvent, nodeId = ""): string {
    const { type } = event;
    if (type === "tool_call_chunk" || type === "tool_output") return `${type}\n${this.#callOf(event, nodeId)}`;
    const { id = "", channel = "answer" } = event as Partial<EventOf<"message_chunk">>;
    return `${type}\n${channel}\n${nodeId}\n${id}`;
  }

  /** The call ID; without one, that of the last argument chunk, or the name of the tool. */
  #callOf(event: AnyEvent, nodeId: string | undefined): string {
    const { call_id, index, name = "" } = event as Partial<EventOf<"tool_call_chunk">>;
    return call_id ?? this.#calls.get(slotOf(nodeId, index)) ?? name;
  }

  #noteCall({ call_id, index }: EventOf<"tool_call_chunk">, nodeId: string | undefined): void {
    if (call_id !== undefined) this.#calls.set(slotOf(nodeId, index), call_id);
  }
}

const NOTHING: readonly TextEvent[] = [];

function fieldOf({ type }: AnyEvent): "content" | "arguments_delta" | undefined {
  return Object.hasOwn(PIECES, type) ? PIECES[type] : undefined;
}
