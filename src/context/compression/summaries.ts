/**
 * The summaries of one session that are known: which messages each stands for, and where in a prompt it fits. It holds the
 * latest, and what it has forgotten is in the log.
 */
import type { ModelMessage } from "../../models/model.ts";
import type { CompressionAppliedEvent } from "../../protocol/index.ts";
import { digestMessages, isSolid, LOOK_BACK } from "./digest-messages.ts";

/** What is sent in the place of the messages it covers. */
export interface Summary {
  /** Messages it stands for, from the first of the session on. */
  readonly count: number;
  readonly digest: string;
  readonly text: string;
}

/** A summary, and the first message it does not cover. */
export interface Placed {
  readonly summary: Summary;
  readonly at: number;
}

const MAX_SUMMARIES = 8;

export class Summaries {
  /** Newest first. */
  #known: readonly Summary[] = [];

  add(summary: Summary): void {
    const others = this.#known.filter(({ digest, count }) => digest !== summary.digest || count !== summary.count);
    this.#known = [summary, ...others].slice(0, MAX_SUMMARIES);
  }

  /** What the log has is older than what was added here. */
  learn(events: readonly CompressionAppliedEvent[]): void {
    for (const { covered_messages: count = 0, covered_digest: digest, summary: text } of events) {
      if (this.#known.length >= MAX_SUMMARIES) return;
      if (count === 0 || digest === undefined || text === undefined) continue;
      if (this.#known.some((known) => known.digest === digest && known.count === count)) continue;
      this.#known = [...this.#known, { count, digest, text }];
    }
  }

  /**
   * The one that covers most of these messages, the system's not among them. Where they are all there it fits the place it
   * was made for; else the latest that looks like it, since a history may have lost its beginning.
   */
  find(messages: readonly ModelMessage[], isAllowed: (at: number) => boolean): Placed | undefined {
    if (this.#known.length === 0) return undefined;
    const solid = messages.flatMap((message, index) => (isSolid(message) ? [{ message, index }] : []));
    const digests: string[] = [];
    const digestBefore = (length: number): string => {
      const seen = solid.slice(Math.max(0, length - LOOK_BACK), length);
      return (digests[length] ??= digestMessages(seen.map(({ message }) => message)));
    };
    let found: Placed | undefined;
    for (const summary of this.#known) {
      for (let length = Math.min(summary.count, solid.length); length > 0; length--) {
        const at = (solid[length - 1]?.index ?? 0) + 1;
        if (found !== undefined && at <= found.at) break;
        if (digestBefore(length) !== summary.digest || !isAllowed(at)) continue;
        found = { summary, at };
        break;
      }
    }
    return found;
  }
}

/** What a summary of the messages before `at` is known by; `before` is the one it goes on from. */
export function describeCover(
  messages: readonly ModelMessage[],
  at: number,
  before: Placed | undefined,
): { readonly count: number; readonly digest: string } {
  const covered = messages.slice(0, at).filter(isSolid);
  const known = before === undefined ? 0 : messages.slice(0, before.at).filter(isSolid).length;
  // A history that has lost its beginning has fewer than the summary stands for.
  return { count: (before?.summary.count ?? 0) + covered.length - known, digest: digestMessages(covered) };
}
