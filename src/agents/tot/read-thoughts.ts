/**
 * The thoughts in what a model said when it was asked for next steps: lines of a list, or one whole answer, each with the
 * tools it calls. Pure; it knows no tree.
 *
 * Invariant: however much the model said, what comes out has no more and no longer thoughts than the limits allow, no two
 * are the same, and every call is either a thought's or among those left out.
 */
import { Buffer } from "node:buffer";
import type { AssistantPart, ModelResult, ModelToolCall } from "../../models/model.ts";
import type { JsonObject } from "../../protocol/index.ts";

export type ThoughtCall = {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** The model's text, where it is no JSON object. */
  readonly raw?: string;
};

export type Candidate = {
  readonly text: string;
  readonly calls?: readonly ThoughtCall[];
};

export type Reading = {
  readonly candidates: readonly Candidate[];
  /** Ids of calls that belong to none of them. */
  readonly left: readonly string[];
  /** Thoughts, parts of thoughts and calls that were over a limit. */
  readonly cut: number;
  /** Whether the model was stopped in the middle of it. */
  readonly isHalf: boolean;
};

export interface ThoughtLimits {
  /** Thoughts of this answer. */
  readonly max: number;
  /** Those from this on are too many; those before it there is no room for. `max`, when absent. */
  readonly tooMany?: number;
  /** Characters of each. */
  readonly maxCharacters: number;
  /** Bytes of each in a record, and as many of its calls with all that belongs to them. */
  readonly maxBytes: number;
}

/** What a model said, as `think` gives it. */
export interface Said {
  readonly content: readonly AssistantPart[];
  readonly calls: readonly ModelToolCall[];
  readonly result?: Pick<ModelResult, "finishReason">;
}

const MAX_CALLS = 8;
/** Characters of a call that stands where a thought's text should. */
const MAX_SIGNATURE = 200;

/** Each line is a thought, unless the model was stopped in it; a call belongs to the line right before it, or is one of its own. */
export function readProposals(said: Said, limits: ThoughtLimits): Reading {
  const list = new CandidateList(limits);
  const last = said.content.at(-1);
  const isHalf = isStopped(said) && last?.type === "text" && !/\n\s*$/u.test(last.text);
  for (const part of said.content) {
    if (part.type === "text") {
      const text = isHalf && part === last ? part.text.slice(0, part.text.lastIndexOf("\n") + 1) : part.text;
      for (const line of listLines(text)) list.add(line);
    } else if (part.type === "tool-call") list.call(readCall(part, said.calls));
  }
  return list.finish(isHalf);
}

function isStopped({ result }: Said): boolean {
  return result?.finishReason === "length" || result?.finishReason === "content_filter";
}

/** The whole answer is one thought, as far as it came, with all that it calls. */
export function readSample(said: Said, limits: ThoughtLimits): Reading {
  const { content, calls } = said;
  const list = new CandidateList({ ...limits, max: 1 });
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  const made = content.flatMap((part) => (part.type === "tool-call" ? [readCall(part, calls)] : []));
  const [first] = made;
  if (!isEmpty(text)) list.add(text);
  else if (first !== undefined) list.add(signCall(first));
  for (const call of made) list.attach(call);
  return list.finish(isStopped(said));
}

/** Several answers to one question as one; what was said twice is there once. */
export function joinReadings(readings: readonly Omit<Reading, "left">[]): Reading {
  const seen = new Set<string>();
  const candidates: Candidate[] = [];
  const left: string[] = [];
  for (const reading of readings) {
    for (const candidate of reading.candidates) {
      const key = JSON.stringify([
        squeeze(candidate.text),
        candidate.calls?.map(({ name, input, raw = null }) => [name, input, raw]) ?? [],
      ]);
      if (seen.has(key)) left.push(...(candidate.calls ?? []).map(({ id }) => id));
      else candidates.push(candidate);
      seen.add(key);
    }
  }
  const cut = readings.reduce((sum, reading) => sum + reading.cut, 0);
  return { candidates, left, cut, isHalf: readings.some(({ isHalf }) => isHalf) };
}

/** A call as a thought's text. */
export function signCall({ name, input, raw }: ThoughtCall): string {
  const signature = `${name}(${raw ?? JSON.stringify(input)})`;
  return signature.length <= MAX_SIGNATURE ? signature : cutText(signature, MAX_SIGNATURE);
}

export function cutText(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, Math.max(0, max - 1)).toWellFormed()}…`;
}

/** So much of a text as has these bytes in a record. */
export function fitText(text: string, maxBytes: number): string {
  let fitting = text;
  for (let bytes = measureBytes(text); bytes > maxBytes && fitting.length > 1; bytes = measureBytes(fitting))
    fitting = cutText(text, Math.floor((fitting.length * maxBytes) / bytes));
  return fitting;
}

function measureBytes(value: string | ThoughtCall): number {
  return Buffer.byteLength(JSON.stringify(value));
}

class CandidateList {
  readonly #limits: ThoughtLimits;
  readonly #candidates: { readonly text: string; readonly calls: ThoughtCall[]; room: number }[] = [];
  readonly #seen = new Set<string>();
  readonly #left: string[] = [];
  #cut = 0;
  #over = 0;
  /** The last line was taken, and nothing has come after it. */
  #isFresh = false;

  constructor(limits: ThoughtLimits) {
    this.#limits = limits;
  }

  add(said: string): void {
    this.#isFresh = false;
    const text = clean(said);
    const key = squeeze(text);
    if (this.#seen.has(key)) return;
    const { max, tooMany = max, maxCharacters, maxBytes } = this.#limits;
    if (this.#candidates.length >= max) {
      if (++this.#over > tooMany - max) this.#cut++;
      return;
    }
    this.#seen.add(key);
    const fitting = fitText(cutText(text, maxCharacters), maxBytes);
    if (fitting !== text) this.#cut++;
    this.#candidates.push({ text: fitting, calls: [], room: maxBytes });
    this.#isFresh = true;
  }

  call(call: ThoughtCall): void {
    if (!this.#isFresh) this.add(signCall(call));
    if (this.#isFresh) this.attach(call);
    else this.#left.push(call.id);
    this.#isFresh = false;
  }

  /** To the last thought. */
  attach(call: ThoughtCall): void {
    const last = this.#candidates.at(-1);
    const size = measureBytes(call);
    if (last !== undefined && last.calls.length < MAX_CALLS && size <= last.room) {
      last.room -= size;
      last.calls.push(call);
      return;
    }
    this.#left.push(call.id);
    this.#cut++;
  }

  finish(isHalf: boolean): Reading {
    const candidates = this.#candidates.map(({ text, calls }) => ({ text, ...(calls.length === 0 ? {} : { calls }) }));
    return { candidates, left: this.#left, cut: this.#cut, isHalf };
  }
}

function readCall(
  { toolCallId: id, toolName: name, input }: Extract<AssistantPart, { readonly type: "tool-call" }>,
  calls: readonly ModelToolCall[],
): ThoughtCall {
  const made = calls.find(({ callId }) => callId === id);
  return { id, name, input, ...(made !== undefined && made.input === undefined ? { raw: made.rawInput } : {}) };
}

/**
 * What stands before an item of a list: a dash or a dot, a number or a letter, each with a space after it; in Chinese there
 * is none, and then the numbers that are added up in "3、8 相加" must not be taken for it.
 */
const BULLET = new RegExp(
  [
    String.raw`^(?:[-*+•–]|\(?\d{1,4}[.):]|\(?[a-z][.)])\s+`,
    String.raw`^(?:\d{1,4}[、．）]|（\d{1,4}）)(?:\s+|(?=\D))`,
    String.raw`^(?:\d{1,4}[.:)]|\(\d{1,4}\))(?=\p{Script=Han})`,
    String.raw`^(?:[一二三四五六七八九十]{1,3}、|（[一二三四五六七八九十]{1,3}）)(?![一二三四五六七八九十])\s*`,
    String.raw`^[①-⑳]\s*`,
  ].join("|"),
  "iu",
);
/** "These are possible:" is said of what follows, and is nothing itself. */
const LEAD_IN = /[:：]\**$/u;

function* listLines(text: string): Generator<string> {
  let leadIn: string | undefined;
  for (const line of text.split("\n").map((part) => part.trim())) {
    const item = line.replace(BULLET, "");
    if (isEmpty(item) || item.startsWith("```")) continue;
    leadIn = item === line && LEAD_IN.test(line) ? line : undefined;
    if (leadIn === undefined) yield item;
  }
  if (leadIn !== undefined) yield leadIn;
}

/** Nothing but spaces, rules and marks. */
function isEmpty(text: string): boolean {
  return !/[\p{L}\p{N}]/u.test(text);
}

/** Control characters would be six bytes each in a record, and nobody sees them. */
function clean(text: string): string {
  return text
    .replace(/[^\P{Cc}\n\t]/gu, " ")
    .toWellFormed()
    .trim();
}

function squeeze(text: string): string {
  return text.replace(/\s+/gu, " ");
}
