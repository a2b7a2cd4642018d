/**
 * Ends runs for receivers that know only the 23 types of 001. Such a receiver does not know `run_end`, so in strict form a
 * failed or cancelled run also ends with a reply: the answer text that was produced, possibly empty. The reply is not a
 * record: it has no event ID, and our decoders drop it (`closing-reply-filter.ts`).
 */
import type { StampedRecord } from "../protocol/index.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import type { MessageChunkEvent } from "../protocol/events.generated.ts";
import { isTerminal } from "../protocol/record.ts";
import { type ReplyBudget, ReplyText } from "./reply-text.ts";

const MAX_LIVE_RUNS = 1000;
const MAX_NODES = 1000;

/** The reply to send after the `run_end` of a run that did not complete. */
export interface ClosingReply {
  readonly reply: string;
  /** The node run that produced the text; undefined if there is none. */
  readonly nodeId: string | undefined;
}

interface RunAnswer {
  /** The answer text of each node run, the latest last. */
  readonly texts: BoundedMap<ReplyText>;
  /** The node run that produced text last. */
  last: string | undefined;
}

/** Collects the answer of each run, and creates the closing reply when one ends without a reply. */
export class ClosingReplyWriter {
  readonly #budget: ReplyBudget = { held: 0 };
  readonly #runs = new BoundedMap<RunAnswer>(MAX_LIVE_RUNS, clear);

  /** Adds the next record. Returns the reply to send after its frame, if there is one. */
  add({ envelope, event }: StampedRecord): ClosingReply | undefined {
    const { session_id, run_id = "", node_id = "" } = envelope;
    const key = `${session_id.length}:${session_id}${run_id}`;
    if (event.type === "message_chunk") {
      const { channel, content } = event as MessageChunkEvent;
      if (channel === "thought") return undefined;
      const answer = this.#runs.getOrCreate(key, createAnswer);
      answer.texts.getOrCreate(node_id, () => new ReplyText(this.#budget)).add(content);
      answer.last = node_id;
      return undefined;
    }
    const answer = this.#runs.get(key);
    if (event.type === "node_enter") {
      // A node ID may be used again, which starts a new answer.
      answer?.texts.get(node_id)?.clear();
      return undefined;
    }
    if (event.type !== "run_start" && !isTerminal(event)) return undefined;
    const { last = "" } = answer ?? {};
    const reply = answer?.texts.get(last)?.toString() ?? "";
    if (answer !== undefined) clear(answer);
    this.#runs.delete(key);
    return event.type === "run_end" ? { reply, nodeId: last === "" ? undefined : last } : undefined;
  }
}

function createAnswer(): RunAnswer {
  return { texts: new BoundedMap<ReplyText>(MAX_NODES, (text) => text.clear()), last: undefined };
}

function clear({ texts }: RunAnswer): void {
  for (const text of texts.values()) text.clear();
}
