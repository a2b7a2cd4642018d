/**
 * Ends runs for receivers that know only the 23 types of 001. Such a receiver does not know `run_end`, so in strict form a
 * failed or cancelled run also ends with a reply: the answer text that was produced, possibly empty. The reply is not a
 * record: it has no event ID, and our decoders drop it (`closing-reply-filter.ts`).
 *
 * The saved state has no texts, because they are as long as the run. A writer that continues from it asks for the text
 * of an answer when the reply needs it.
 */
import type { StampedRecord } from "../protocol/index.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import type { MessageChunkEvent, NodeEnterEvent } from "../protocol/events.generated.ts";
import { runKey } from "../protocol/match-run.ts";
import { isTerminal, isAnswerChannel } from "../protocol/record.ts";
import type { MissingText } from "./dialect.ts";
import { MAX_REPLY_CHARACTERS } from "./reply-text.ts";

const MAX_LIVE_RUNS = 1000;
const MAX_NODES = 1000;

/** The reply to send after the `run_end` of a run that did not complete. */
export interface ClosingReply {
  readonly reply: string;
  /** The node run that produced the text; undefined if there is none. */
  readonly nodeId: string | undefined;
}

interface ReplyPart {
  /** The text, without its beginning if that is missing. */
  text: string;
  /** Number of characters at the beginning that are missing in `text`. */
  missing: number;
  /** The record with the first piece. */
  fromId: number;
  /** True if pieces were dropped because of the limit. */
  isCut: boolean;
}

interface RunAnswer {
  /** The answer of each node run, the latest last. */
  readonly nodes: Map<string, ReplyPart>;
  /** The node run that produced text last. */
  last: string | undefined;
}

/** The state of a writer: plain data that can be stored. */
interface AnswerState {
  readonly runs: Map<string, RunAnswer>;
  /** Characters of all answers. */
  held: number;
}

/** Collects the answer of each run, and creates the closing reply when one ends without a reply. */
export class ClosingReplyWriter {
  readonly #state: AnswerState;
  readonly #runs: BoundedMap<RunAnswer>;

  /** `saved` is the result of `save`. */
  constructor(saved?: unknown) {
    this.#state = (saved ?? { runs: new Map(), held: 0 }) as AnswerState;
    this.#runs = new BoundedMap(MAX_LIVE_RUNS, (answer) => this.#clearRun(answer), this.#state.runs);
  }

  /** Adds the next record. Returns the reply to send after its frame, if there is one. */
  add({ envelope, event }: StampedRecord): ClosingReply | undefined {
    const { node_id = "", event_id } = envelope;
    const key = runKey(envelope.session_id, envelope.run_id);
    if (event.type === "message_chunk") {
      const { channel, content } = event as MessageChunkEvent;
      if (!isAnswerChannel(channel)) return undefined;
      const answer = this.#runs.getOrCreate(key, () => ({ nodes: new Map(), last: undefined }));
      const nodes = new BoundedMap<ReplyPart>(MAX_NODES, (node) => this.#clear(node), answer.nodes);
      this.#addText(
        nodes.getOrCreate(node_id, () => ({ text: "", missing: 0, fromId: event_id, isCut: false })),
        content,
        event_id,
      );
      answer.last = node_id;
      return undefined;
    }
    const answer = this.#runs.get(key);
    if (event.type === "node_enter") {
      // A node ID may be used again, which starts a new answer.
      const { supersedes = node_id } = event as NodeEnterEvent;
      // The text of an interrupted node run does not count once the node runs again.
      for (const id of new Set([node_id, supersedes])) {
        const node = answer?.nodes.get(id);
        if (node !== undefined) this.#clear(node);
      }
      return undefined;
    }
    if (event.type !== "run_start" && !isTerminal(event)) return undefined;
    const { last = "" } = answer ?? {};
    const reply = answer?.nodes.get(last)?.text ?? "";
    if (answer !== undefined) this.#clearRun(answer);
    this.#runs.delete(key);
    return event.type === "run_end" ? { reply, nodeId: last === "" ? undefined : last } : undefined;
  }

  /** Returns the missing text that the reply after `record` needs; see `Encoder`. */
  findMissingText({ envelope, event }: StampedRecord): MissingText | undefined {
    if (event.type !== "run_end" || !isTerminal(event)) return undefined;
    const { nodes, last = "" } = this.#runs.get(runKey(envelope.session_id, envelope.run_id)) ?? {};
    const node = nodes?.get(last);
    if (node === undefined || node.missing === 0) return undefined;
    return {
      runId: envelope.run_id,
      nodeId: last === "" ? undefined : last,
      fromId: node.fromId,
      length: node.missing,
      add(text) {
        node.text = text + node.text;
        node.missing = 0;
      },
    };
  }

  /** Returns the state without the texts; see `Encoder`. */
  save(): unknown {
    const runs = new Map<string, RunAnswer>();
    for (const [key, { nodes, last }] of this.#state.runs) {
      const saved = new Map<string, ReplyPart>();
      for (const [id, { text, missing, ...node }] of nodes)
        saved.set(id, { ...node, text: "", missing: missing + text.length });
      runs.set(key, { nodes: saved, last });
    }
    return { runs, held: this.#state.held } satisfies AnswerState;
  }

  #addText(node: ReplyPart, piece: string, eventId: number): void {
    node.isCut ||= this.#state.held + piece.length > MAX_REPLY_CHARACTERS;
    if (node.isCut) return;
    if (node.missing + node.text.length === 0) node.fromId = eventId;
    node.text += piece;
    this.#state.held += piece.length;
  }

  #clear(node: ReplyPart): void {
    this.#state.held -= node.missing + node.text.length;
    node.text = "";
    node.missing = 0;
    node.isCut = false;
  }

  #clearRun({ nodes }: RunAnswer): void {
    for (const node of nodes.values()) this.#clear(node);
  }
}
