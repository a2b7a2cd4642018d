/** Cache of conversations of the most recently used sessions. Evicted ones are read from the log again. */
import type { Log } from "../log/index.ts";
import { BoundedMap } from "../protocol/bounded-map.ts";
import { Conversation, type HistoryOptions } from "./conversation.ts";

/** Maximum cached sessions, and characters of all of them. */
const MAX_CONVERSATIONS = 1000;
const MAX_REMEMBERED_CHARACTERS = 16 * 1024 * 1024;

export class Conversations {
  readonly #options: HistoryOptions | undefined;
  readonly #conversations = new BoundedMap<Conversation>(MAX_CONVERSATIONS);

  constructor(options: HistoryOptions | undefined) {
    this.#options = options;
  }

  async recall(log: Log, sessionId: string): Promise<Conversation> {
    const incarnation = (await log.getSession(sessionId))?.incarnation;
    let conversation = this.#conversations.get(sessionId);
    // Two logs may have sessions with the same name, and a deleted session may have been recreated.
    if (conversation?.log !== log || conversation.incarnation !== incarnation)
      conversation = new Conversation(log, sessionId, { ...this.#options, incarnation });
    // Most recently used last.
    this.#conversations.delete(sessionId);
    this.#conversations.set(sessionId, conversation);
    return conversation;
  }

  forget(sessionId: string): void {
    this.#conversations.delete(sessionId);
  }

  /** Evicts the least recently used conversations until the rest is within the limit. */
  trim(): void {
    let characters = 0;
    for (const conversation of this.#conversations.values()) characters += conversation.characters;
    for (const sessionId of this.#conversations.keys()) {
      if (characters <= MAX_REMEMBERED_CHARACTERS) return;
      characters -= this.#conversations.get(sessionId)?.characters ?? 0;
      this.#conversations.delete(sessionId);
    }
  }
}
