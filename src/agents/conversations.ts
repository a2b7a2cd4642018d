/**
 * The histories an agent has at hand, of the sessions it answered in last. What is forgotten is read again from the log
 * when its session goes on.
 */
import type { Log } from "../log/index.ts";
import { BoundedMap } from "../protocol/index.ts";
import { Conversation, type HistoryOptions } from "./conversation.ts";

/** Sessions whose history is kept in memory, and how much of it in all. */
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
    // Sessions of two logs may have one name, and one that was deleted may be made anew: nothing goes from one to the other.
    if (conversation?.log !== log || conversation.incarnation !== incarnation)
      conversation = new Conversation(log, sessionId, { ...this.#options, incarnation });
    // The latest stands last.
    this.#conversations.delete(sessionId);
    this.#conversations.set(sessionId, conversation);
    return conversation;
  }

  forget(sessionId: string): void {
    this.#conversations.delete(sessionId);
  }

  /** Lets the oldest go until the rest is not too much. */
  trim(): void {
    let characters = 0;
    for (const conversation of this.#conversations.values()) characters += conversation.characters;
    for (const [sessionId, conversation] of this.#conversations) {
      if (characters <= MAX_REMEMBERED_CHARACTERS) return;
      characters -= conversation.characters;
      this.#conversations.delete(sessionId);
    }
  }
}
