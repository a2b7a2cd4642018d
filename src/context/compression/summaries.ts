/**
 * The summaries of one session that are known: which messages each stands for, and where in a prompt it fits. Those that
 * were not used for the longest time are forgotten first, and what is forgotten is in the log.
 */
import type { ModelMessage } from "../../models/model.ts";
import type { CompressionAppliedEvent } from "../../protocol/index.ts";
import { digestMessages, isSolid, LOOK_BACK } from "./digest-messages.ts";
import { readText } from "./summary-message.ts";

/** What is sent in the place of the messages it covers. */
export interface Summary {
  /** Messages it stands for, from the first of the session on. */
  readonly count: number;
  readonly digest: string;
  readonly text: string;
  /** Messages among them that nobody has summarised. */
  readonly missing: number;
  /** No summary could be had: the next one begins before it, as long as the messages are there. */
  readonly isDrop: boolean;
}

/** A summary, and the first message it does not cover. */
export interface Placed {
  readonly summary: Summary;
  readonly at: number;
}

/** Prompts side by side, each with a conversation of its own, have one each. */
const MAX_SUMMARIES = 256;
const MAX_CHARACTERS = 2 * 1024 * 1024;

export class Summaries {
  /** The one that was used last stands last. */
  #known = new Map<string, Summary>();
  #latest: Summary | undefined;

  /** The latest of the whole conversation, wherever it fits. */
  get latest(): Summary | undefined {
    return this.#latest;
  }

  /** `replaced` is what nobody needs any more. */
  add(
    summary: Summary,
    { replaced, isLatest }: { readonly replaced: Summary | undefined; readonly isLatest: boolean },
  ) {
    if (replaced !== undefined) this.#known.delete(keyOf(replaced));
    if (isLatest) this.#latest = summary;
    this.#use(summary);
    this.#trim();
  }

  /** What the log has is older than what was added here. */
  learn(events: readonly CompressionAppliedEvent[]): void {
    const older = new Map<string, Summary>();
    for (const { covered_messages: count = 0, covered_digest: digest, summary: said, method } of events) {
      if (older.size >= MAX_SUMMARIES) break;
      if (count === 0 || digest === undefined || said === undefined) continue;
      const summary: Summary = { count, digest, ...readText(said), isDrop: method === "drop" };
      this.#latest ??= summary;
      const key = keyOf(summary);
      if (!this.#known.has(key) && !older.has(key)) older.set(key, summary);
    }
    if (older.size === 0) return;
    this.#known = new Map([...[...older].toReversed(), ...this.#known]);
    this.#trim();
  }

  /**
   * The one that covers most of these messages, the system's not among them. Where they are all there it fits the place it
   * was made for; else the latest that looks like it, since a history may have lost its beginning.
   */
  find(solid: SolidMessages, isMeant: (summary: Summary, at: number) => boolean): Placed | undefined {
    if (this.#known.size === 0) return undefined;
    const digestBefore = (length: number): string =>
      digestMessages(solid.slice(Math.max(0, length - LOOK_BACK), length).map(({ message }) => message));
    const placeAt = (length: number): number => (solid[length - 1]?.index ?? 0) + 1;
    const all = [...this.#known.values()];
    let found: Placed | undefined;
    for (const summary of all) {
      const at = placeAt(summary.count);
      if (summary.count > solid.length || (found !== undefined && at < found.at)) continue;
      if (isMeant(summary, at) && digestBefore(summary.count) === summary.digest) found = { summary, at };
    }
    if (found === undefined) {
      const byDigest = new Map(all.map((summary) => [summary.digest, summary]));
      const most = Math.max(...all.map(({ count }) => count));
      for (let length = Math.min(solid.length, most - 1); length > 0 && found === undefined; length--) {
        const summary = byDigest.get(digestBefore(length));
        const at = placeAt(length);
        if (summary !== undefined && summary.count > length && isMeant(summary, at)) found = { summary, at };
      }
    }
    if (found !== undefined) this.#use(found.summary);
    return found;
  }

  #use(summary: Summary): void {
    const key = keyOf(summary);
    this.#known.delete(key);
    this.#known.set(key, summary);
  }

  #trim(): void {
    let characters = 0;
    for (const { text } of this.#known.values()) characters += text.length;
    for (const [key, { text }] of this.#known) {
      if (this.#known.size <= 1 || (this.#known.size <= MAX_SUMMARIES && characters <= MAX_CHARACTERS)) return;
      characters -= text.length;
      this.#known.delete(key);
    }
  }
}

/** Those that the log gives back, and where they stand. */
export type SolidMessages = readonly { readonly message: ModelMessage; readonly index: number }[];

export function listSolid(messages: readonly ModelMessage[]): SolidMessages {
  return messages.flatMap((message, index) => (isSolid(message) ? [{ message, index }] : []));
}

function keyOf({ count, digest }: Summary): string {
  return `${count} ${digest}`;
}

/** What a summary of the messages before `at` is known by; `before` is the one it goes on from. */
export function describeCover(
  solid: SolidMessages,
  at: number,
  before: Placed | undefined,
): { readonly count: number; readonly digest: string } {
  const covered = solid.filter(({ index }) => index < at);
  const known = before === undefined ? 0 : covered.filter(({ index }) => index < before.at).length;
  // A history that has lost its beginning has fewer than the summary stands for.
  const count = (before?.summary.count ?? 0) + covered.length - known;
  return { count, digest: digestMessages(covered.map(({ message }) => message)) };
}
