/**
 * The answer as it is streamed, for a reply that nobody else puts together. Text of a node run is held while that node
 * run may still be the last that answers.
 */
import { type EventRecord, isKnownEvent, LoomError } from "../protocol/index.ts";

interface Answer {
  readonly pieces: string[];
  length: number;
  open: boolean;
}

export class AnswerText {
  readonly #limit: number;
  readonly #answers = new Map<string, Answer>();
  #last: string | undefined;
  #length = 0;
  #isTooLong = false;

  /** `limit` is in characters; past it nothing is held, and `toString` throws. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The node run that answered last; undefined when none did, or text came from no node run. */
  get nodeId(): string | undefined {
    return this.#last === "" ? undefined : this.#last;
  }

  add({ envelope, event }: EventRecord): void {
    if (!isKnownEvent(event)) return;
    const key = envelope.node_id ?? "";
    if (event.type === "node_exit") {
      const answer = this.#answers.get(key);
      if (answer !== undefined) answer.open = false;
    }
    if (event.type !== "message_chunk" || event.channel === "thought") return;
    if (key !== this.#last) this.#turnTo(key);
    this.#length += event.content.length;
    if (this.#length > this.#limit) this.#giveUp();
    if (this.#isTooLong) return;
    let answer = this.#answers.get(key);
    if (answer === undefined) this.#answers.set(key, (answer = { pieces: [], length: 0, open: true }));
    answer.pieces.push(event.content);
    answer.length += event.content.length;
  }

  /** Throws `event_too_large` where it was more than may be held. */
  toString(): string {
    if (this.#isTooLong)
      throw new LoomError("event_too_large", `an answer may have ${this.#limit} characters`, { limit: this.#limit });
    return this.#answers.get(this.#last ?? "")?.pieces.join("") ?? "";
  }

  /** A node run that is over and was not the last to answer never will be. */
  #turnTo(key: string): void {
    this.#last = key;
    for (const [other, { open, length }] of this.#answers) {
      if (open || other === key) continue;
      this.#length -= length;
      this.#answers.delete(other);
    }
  }

  #giveUp(): void {
    this.#isTooLong = true;
    this.#answers.clear();
  }
}
