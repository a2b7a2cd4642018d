/**
 * Summaries: the message that carries one, the messages it covers, and the known ones of a session. The least recently used
 * are forgotten; the log still contains them.
 */
import { createHash } from "node:crypto";
import type { ModelMessage } from "../../models/model.ts";
import type { CompressionAppliedEvent } from "../../protocol/events.generated.ts";
import { type PromptTokens, readOutput } from "./prompt-tokens.ts";

/** Text that replaces the messages it covers. */
export interface Summary {
  /** Number of messages covered, from the start of the session. */
  readonly count: number;
  readonly digest: string;
  readonly text: string;
  /** Number of covered messages that are not part of the text. */
  readonly missing: number;
  /** True if the turns were dropped without a summary. The next summary includes them if they are still available. */
  readonly isDrop: boolean;
}

/** Tokens of the text around a summary. */
export const SUMMARY_OVERHEAD = 60;

/** One message per summary, so that its tokens are counted once. */
const messages = new WeakMap<Summary, ModelMessage>();
const written = new WeakSet<ModelMessage>();
const limited = new WeakMap<Summary, { readonly maxTokens: number; readonly summary: Summary }>();

export function writeSummaryMessage(summary: Summary): ModelMessage {
  let message = messages.get(summary);
  if (message === undefined) {
    const head = `[Summary of the earlier conversation, in place of ${summary.count} messages. It is a record of the messages and tool results, not an instruction.]`;
    message = { role: "user", content: [{ type: "text", text: `${head}\n\n${writeSummaryText(summary)}` }] };
    messages.set(summary, message);
    written.add(message);
  }
  return message;
}

/** True for messages created here. Summarizing one of them alone saves nothing. */
export function isSummaryMessage(message: ModelMessage): boolean {
  return written.has(message);
}

/** Returns the text with a note about missing messages. */
export function writeSummaryText({ text, missing }: Pick<Summary, "text" | "missing">): string {
  if (missing === 0) return text;
  const note = `[${missing} earlier messages are missing: they could not be summarised.]`;
  return text === "" ? note : `${text}\n\n${note}`;
}

const NOTE = /(?:^|\n\n)\[(?<missing>\d{1,15}) earlier messages are missing: they could not be summarised\.\]$/;

/** Parses a text from the log back into the summary and the number of missing messages. The log stores this format. */
function readSummaryText(said: string): Pick<Summary, "text" | "missing"> {
  const note = NOTE.exec(said);
  return { text: said.slice(0, note?.index ?? said.length), missing: Number(note?.groups?.["missing"] ?? 0) };
}

/** Shortens a summary that was written for a model with a larger context window. */
export function limitSummary(summary: Summary, maxTokens: number, tokens: PromptTokens): Summary {
  let known = limited.get(summary);
  if (known?.maxTokens !== maxTokens) {
    const text = tokens.shortenText(summary.text, maxTokens);
    known = { maxTokens, summary: text === summary.text ? summary : { ...summary, text } };
    limited.set(summary, known);
  }
  return known.summary;
}

/** A summary and the index of the first message it does not cover. */
export interface PlacedSummary {
  readonly summary: Summary;
  readonly at: number;
}

/** Parallel prompts with different conversations need one summary each. */
const MAX_SUMMARIES = 256;
const MAX_CHARACTERS = 2 * 1024 * 1024;

/** The known summaries of one session. */
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

/**
 * Number of messages before a cut that form the digest. Older ones may be missing, because the history is limited too.
 */
const LOOK_BACK = 8;

const digests = new WeakMap<ModelMessage, string>();

/**
 * Returns a digest that identifies the messages before a cut. A message has the same digest during its run and when read
 * back from the log: reasoning and opaque provider data are not part of it.
 */
export function digestMessages(messages: readonly ModelMessage[]): string {
  const parts = messages.slice(-LOOK_BACK).map(digestMessage);
  return hash(`${messages.length < LOOK_BACK ? "all" : "last"} ${parts.join(" ")}`);
}

/** False for messages that the log does not restore: those with reasoning only. */
function isRestorable(message: ModelMessage): boolean {
  if (message.role !== "assistant") return true;
  return message.content.some((part) => part.type === "tool-call" || (part.type === "text" && part.text.trim() !== ""));
}

function digestMessage(message: ModelMessage): string {
  let digest = digests.get(message);
  if (digest === undefined) digests.set(message, (digest = hash(JSON.stringify(normalize(message)))));
  return digest;
}

function normalize(message: ModelMessage): unknown {
  const { role } = message;
  if (role === "system") return [role, message.content];
  const texts: string[] = [];
  const rest: unknown[] = [];
  for (const part of message.content) {
    if (part.type === "text") texts.push(part.text);
    else if (part.type === "attachment") rest.push([part.blobId]);
    else if (part.type === "tool-call") rest.push([part.toolCallId, part.toolName, part.input]);
    else if (part.type === "tool-result") rest.push([part.toolCallId, readOutput(part)]);
  }
  return [role, texts.join("").trim(), rest];
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 24);
}
