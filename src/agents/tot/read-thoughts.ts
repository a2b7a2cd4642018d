/**
 * Parses thoughts from a model's answer: the lines of a list, or one whole answer, with their tool calls.
 *
 * Invariant: the result respects the limits and has no duplicates, and every call belongs to a thought or is listed in
 * `left`.
 */
import { Buffer } from "node:buffer";
import type { AssistantPart, ModelResult, ModelToolCall } from "../../models/model.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { shorten } from "../../protocol/cut-text.ts";
import { removeThinking } from "../../models/think-tags.ts";
import { findField, listObjectsIn } from "../read-json.ts";
import { isEmpty, isNone, readCandidates } from "./read-candidates.ts";

export type ThoughtCall = {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** Raw arguments that are not a JSON object. */
  readonly raw?: string;
};

export type CandidateThought = {
  readonly text: string;
  readonly calls?: readonly ThoughtCall[];
};

export type ParsedThoughts = {
  readonly candidates: readonly CandidateThought[];
  /** Ids of calls that belong to no thought. */
  readonly left: readonly string[];
  /** Number of parts of thoughts and of calls that exceeded a limit. */
  readonly cut: number;
  /** Whether the model was stopped in the middle of a thought. */
  readonly isHalf: boolean;
};

export interface ThoughtLimits {
  /** Maximum thoughts of this answer; further ones are left out. */
  readonly max: number;
  /** Maximum characters of a thought. */
  readonly maxCharacters: number;
  /** Maximum bytes of a thought in a record; its calls may have as many again. */
  readonly maxBytes: number;
}

/** The output of a model call. */
export interface ModelOutput {
  readonly content: readonly AssistantPart[];
  readonly calls: readonly ModelToolCall[];
  readonly result?: Pick<ModelResult, "finishReason">;
}

const MAX_CALLS = 8;
/** Maximum characters of a call used as the text of a thought. */
const MAX_SIGNATURE = 200;

/**
 * Each step of the list is a thought, except an incomplete last one. A call belongs to the line right before it; otherwise it is a
 * thought itself.
 */
export function readProposals(said: ModelOutput, limits: ThoughtLimits): ParsedThoughts {
  const list = new CandidateList(limits);
  const last = said.content.at(-1);
  const isHalf = isStopped(said) && last?.type === "text" && !endsWithLine(last.text);
  for (const part of said.content) {
    if (part.type === "text") {
      for (const step of readCandidates(part.text, isHalf && part === last)) list.add(step);
      // A line has its own call, but a JSON list is complete in itself.
      if (/^\s*(?:```\w*\s*)?[{[]/.test(part.text)) list.separate();
    } else if (part.type === "tool-call") list.call(readCall(part, said.calls));
  }
  return list.finish(isHalf);
}

/** True if only white space follows the last line break. */
function endsWithLine(text: string): boolean {
  return text.slice(text.trimEnd().length).includes("\n");
}

function isStopped({ result }: ModelOutput): boolean {
  return result?.finishReason === "length" || result?.finishReason === "content_filter";
}

/** True if the answer has neither text nor calls. Reasoning is not text. */
export function isBlankOutput({ content, calls }: ModelOutput): boolean {
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return calls.length === 0 && isEmpty(removeThinking(text));
}

/** The whole answer is one thought with all its calls, even if it is incomplete. */
export function readSample(said: ModelOutput, limits: ThoughtLimits): ParsedThoughts {
  const { content, calls } = said;
  const list = new CandidateList({ ...limits, max: 1 });
  const text = readWhole(content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(""));
  const made = content.flatMap((part) => (part.type === "tool-call" ? [readCall(part, calls)] : []));
  const [first] = made;
  if (!isEmpty(text) && !isNone(text)) list.add(text);
  else if (first !== undefined) list.add(formatCall(first));
  for (const call of made) list.attach(call);
  return list.finish(isStopped(said));
}

/** The text of a sample, which may be JSON with one step. */
function readWhole(said: string): string {
  const text = removeThinking(said);
  if (!/^\s*(?:```\w*\s*)?[{[]/.test(text)) return text;
  for (const object of listObjectsIn(text)) {
    const step = findField(object, "step", "thought", "nextstep", "text");
    if (typeof step === "string" && !isEmpty(step)) return step;
  }
  return text;
}

/** Joins several answers and removes duplicates. */
export function joinParsed(readings: readonly Omit<ParsedThoughts, "left">[]): ParsedThoughts {
  const seen = new Set<string>();
  const candidates: CandidateThought[] = [];
  const left: string[] = [];
  for (const reading of readings) {
    for (const candidate of reading.candidates) {
      const key = JSON.stringify([
        collapseSpaces(candidate.text),
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

/** Formats a call as text. */
export function formatCall({ name, input, raw }: ThoughtCall): string {
  const signature = `${name}(${raw ?? JSON.stringify(input)})`;
  return shorten(signature, MAX_SIGNATURE);
}

/** Shortens a text to this many bytes in a record. */
export function fitText(text: string, maxBytes: number): string {
  let fitting = text;
  for (let bytes = measureBytes(text); bytes > maxBytes && fitting.length > 1; bytes = measureBytes(fitting))
    fitting = shorten(text, Math.floor((fitting.length * maxBytes) / bytes));
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
  /** True if the last line was accepted and nothing followed it. */
  #isFresh = false;

  constructor(limits: ThoughtLimits) {
    this.#limits = limits;
  }

  add(said: string): void {
    this.#isFresh = false;
    const { max, maxCharacters, maxBytes } = this.#limits;
    const text = clean(said);
    const short = shorten(text, maxCharacters);
    const key = collapseSpaces(short);
    if (this.#seen.has(key)) return;
    if (this.#candidates.length >= max) return;
    this.#seen.add(key);
    const fitting = fitText(short, maxBytes);
    if (fitting !== text) this.#cut++;
    this.#candidates.push({ text: fitting, calls: [], room: maxBytes });
    this.#isFresh = true;
  }

  call(call: ThoughtCall): void {
    if (!this.#isFresh) this.add(formatCall(call));
    if (this.#isFresh) this.attach(call);
    else this.#left.push(call.id);
    this.#isFresh = false;
  }

  /** Makes the next call a separate thought. */
  separate(): void {
    this.#isFresh = false;
  }

  /** Adds the call to the last thought. */
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

  finish(isHalf: boolean): ParsedThoughts {
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

/** Removes control characters, which need six bytes each in a record. */
function clean(text: string): string {
  return text
    .replace(/[^\P{Cc}\n\t]/gu, " ")
    .toWellFormed()
    .trim();
}

function collapseSpaces(text: string): string {
  return text.replace(/\s+/gu, " ");
}
