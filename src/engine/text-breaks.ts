/**
 * Ends the text of a node run with a blank line before a tool call. Clients join all text of a run, and the text after
 * the call would follow without a space. After answer text, the blank line is on the channel `break`: it is not part of the
 * answer. After a thought it is on the channel `judgement`, because dialects that send thoughts separate them themselves.
 */
import { BoundedMap } from "../protocol/bounded-map.ts";
import type { AnyEvent, EventOf } from "../protocol/record.ts";

/** Per run. Beyond it, the node run that has waited longest gets no blank line. */
const MAX_NODE_RUNS = 10_000;
const BLANK_LINE = "\n\n";

/** The text of one node run since its last tool call. */
interface OpenText {
  readonly node: string;
  readonly end: string;
  readonly isThought: boolean;
}

/** Finds the breaks of one run. */
export class TextBreaks {
  readonly #open = new BoundedMap<OpenText>(MAX_NODE_RUNS);

  /** Returns the blank line to write before the event; undefined if there is none. */
  take(event: AnyEvent, nodeId = ""): EventOf<"message_chunk"> | undefined {
    switch (event.type) {
      case "message_chunk":
        this.#addText(event as EventOf<"message_chunk">, nodeId);
        return undefined;
      case "node_exit":
        this.#open.delete(nodeId);
        return undefined;
      case "tool_call_chunk":
      case "tool_call":
        return this.#end(nodeId);
      default:
        return undefined;
    }
  }

  #addText({ content, id, channel }: EventOf<"message_chunk">, nodeId: string): void {
    if (channel === "judgement" || channel === "break") return;
    const before = this.#open.get(nodeId);
    if (before === undefined && content.trim() === "") return;
    const end = ((before?.end ?? "") + content).slice(-BLANK_LINE.length);
    this.#open.set(nodeId, { node: id, end, isThought: channel === "thought" });
  }

  #end(nodeId: string): EventOf<"message_chunk"> | undefined {
    const text = this.#open.get(nodeId);
    if (text === undefined) return undefined;
    this.#open.delete(nodeId);
    const { node, end, isThought } = text;
    if (end === BLANK_LINE) return undefined;
    const content = end.endsWith("\n") ? "\n" : BLANK_LINE;
    return { type: "message_chunk", content, id: node, channel: isThought ? "judgement" : "break" };
  }
}
