/**
 * Collects the answer text of a run, for replies that the agent does not provide itself.
 *
 * The reply is the text of the node run that answered last. The text of another node run is kept only while that node
 * run is open, because it may answer again. The text of an interrupted node run is dropped: the node runs again.
 */
import { isInterrupted } from "./interrupted-nodes.ts";
import { type EventRecord, isKnownEvent, LoomError } from "../protocol/index.ts";
import { isAnswerChannel } from "../protocol/record.ts";

interface NodeAnswer {
  readonly pieces: string[];
  length: number;
  open: boolean;
}

export class AnswerText {
  readonly #limit: number;
  readonly #answers = new Map<string, NodeAnswer>();
  #last: string | undefined;
  #length = 0;
  #isTooLong = false;

  /** `limit` is in characters. Beyond it, no text is kept and `toString` throws. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * ID of the node run that answered last. Undefined when there is no answer, or the text came from outside any node
   * run.
   */
  get nodeId(): string | undefined {
    return this.#last === "" ? undefined : this.#last;
  }

  add({ envelope, event }: EventRecord): void {
    if (!isKnownEvent(event)) return;
    const key = envelope.node_id ?? "";
    if (event.type === "node_enter" && event.supersedes !== undefined) this.#drop(event.supersedes);
    if (event.type === "node_exit") {
      const answer = this.#answers.get(key);
      if (answer !== undefined) answer.open = false;
      if (isInterrupted(event.result)) this.#drop(key);
    }
    if (event.type !== "message_chunk" || !isAnswerChannel(event.channel)) return;
    if (key !== this.#last) this.#switchTo(key);
    this.#length += event.content.length;
    if (this.#length > this.#limit) this.#giveUp();
    if (this.#isTooLong) return;
    let answer = this.#answers.get(key);
    if (answer === undefined) this.#answers.set(key, (answer = { pieces: [], length: 0, open: true }));
    answer.pieces.push(event.content);
    answer.length += event.content.length;
  }

  /** What a run that did not complete has answered. Empty if it exceeded the limit. */
  get partialText(): string {
    return this.#isTooLong ? "" : this.toString();
  }

  /** Returns the reply. Throws `event_too_large` when the answer exceeded the limit. */
  toString(): string {
    if (this.#isTooLong)
      throw new LoomError(
        "event_too_large",
        `The answer exceeds ${this.#limit} characters; finish the run with an explicit reply`,
        { limit: this.#limit },
      );
    return this.#answers.get(this.#last ?? "")?.pieces.join("") ?? "";
  }

  /** Drops the text of closed node runs: they cannot become the last to answer. */
  #switchTo(key: string): void {
    this.#last = key;
    for (const [other, { open }] of this.#answers) if (!open && other !== key) this.#drop(other);
  }

  #drop(key: string): void {
    this.#length -= this.#answers.get(key)?.length ?? 0;
    this.#answers.delete(key);
    if (this.#last === key) this.#last = undefined;
  }

  #giveUp(): void {
    this.#isTooLong = true;
    this.#answers.clear();
  }
}
