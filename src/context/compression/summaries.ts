/**
 * The known summaries of one session: which messages each covers, and where it fits into a prompt. The least recently
 * used are forgotten; the log still contains them.
 */
import type { ModelMessage } from "../../models/model.ts";
import type { CompressionAppliedEvent } from "../../protocol/events.generated.ts";
import { digestMessages, isRestorable, LOOK_BACK } from "./digest-messages.ts";
import { readSummaryText, type Summary } from "./summary-message.ts";

/** A summary and the index of the first message it does not cover. */
export interface PlacedSummary {
  readonly summary: Summary;
  readonly at: number;
}

/** Parallel prompts with different conversations need one summary each. */
const MAX_SUMMARIES = 256;
const MAX_CHARACTERS = 2 * 1024 * 1024;

export class Summaries {
  /** The most recently used is last. */
  #known = new Map<string, Summary>();
  #latest: Summary | undefined;

  /** The latest summary of the whole conversation, regardless of where it fits. */
  get latest(): Summary | undefined {
    return this.#latest;
  }

  /** Adds a summary. `replaced` is the one it makes obsolete. */
  add(
    summary: Summary,
    { replaced, isLatest }: { readonly replaced: Summary | undefined; readonly isLatest: boolean },
  ) {
    if (replaced !== undefined) this.#known.delete(keyOf(replaced));
    if (isLatest) this.#latest = summary;
    this.#use(summary);
    this.#trim();
  }

  /** Adds summaries read from the log, newest first. They count as older than those added here. */
  addEarlier(events: readonly CompressionAppliedEvent[]): void {
    const older = new Map<string, Summary>();
    for (const { covered_messages: count = 0, covered_digest: digest, summary: said, method } of events) {
      if (older.size >= MAX_SUMMARIES) break;
      if (count === 0 || digest === undefined || said === undefined) continue;
      const summary: Summary = { count, digest, ...readSummaryText(said), isDrop: method === "drop" };
      this.#latest ??= summary;
      const key = keyOf(summary);
      if (!this.#known.has(key) && !older.has(key)) older.set(key, summary);
    }
    if (older.size === 0) return;
    this.#known = new Map([...[...older].toReversed(), ...this.#known]);
    this.#trim();
  }

  /**
   * Finds the summary that covers the most of these messages, given without the system message. If the start of the
   * history is missing, finds the latest summary whose digest matches.
   */
  find(restorable: RestorableMessages, matches: (summary: Summary, at: number) => boolean): PlacedSummary | undefined {
    if (this.#known.size === 0) return undefined;
    const digestBefore = (length: number): string =>
      digestMessages(restorable.slice(Math.max(0, length - LOOK_BACK), length).map(({ message }) => message));
    const placeAt = (length: number): number => (restorable[length - 1]?.index ?? 0) + 1;
    const all = [...this.#known.values()];
    let found: PlacedSummary | undefined;
    for (const summary of all) {
      const at = placeAt(summary.count);
      if (summary.count > restorable.length || (found !== undefined && at < found.at)) continue;
      if (matches(summary, at) && digestBefore(summary.count) === summary.digest) found = { summary, at };
    }
    if (found === undefined) {
      const byDigest = new Map(all.map((summary) => [summary.digest, summary]));
      const most = Math.max(...all.map(({ count }) => count));
      for (let length = Math.min(restorable.length, most - 1); length > 0 && found === undefined; length--) {
        const summary = byDigest.get(digestBefore(length));
        const at = placeAt(length);
        if (summary !== undefined && summary.count > length && matches(summary, at)) found = { summary, at };
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

/** The messages that the log restores, with their index in the prompt. */
export type RestorableMessages = readonly { readonly message: ModelMessage; readonly index: number }[];

export function listRestorable(messages: readonly ModelMessage[]): RestorableMessages {
  return messages.flatMap((message, index) => (isRestorable(message) ? [{ message, index }] : []));
}

function keyOf({ count, digest }: Summary): string {
  return `${count} ${digest}`;
}

/**
 * Returns the count and digest that identify a summary of the messages before `at`. `before` is the summary it
 * continues.
 */
export function describeCoverage(
  restorable: RestorableMessages,
  at: number,
  before: PlacedSummary | undefined,
): { readonly count: number; readonly digest: string } {
  const covered = restorable.filter(({ index }) => index < at);
  const known = before === undefined ? 0 : covered.filter(({ index }) => index < before.at).length;
  // A truncated history has fewer messages than the summary covers.
  const count = (before?.summary.count ?? 0) + covered.length - known;
  return { count, digest: digestMessages(covered.map(({ message }) => message)) };
}
