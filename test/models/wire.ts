/** What a provider's wire is to the test server: how it refuses, how it judges a conversation, how it streams a turn. */
import type { JsonObject } from "../../src/protocol/index.ts";

export interface ServerCall {
  readonly name: string;
  /** A text is streamed as it is, valid or not. */
  readonly input?: JsonObject | string;
  readonly id?: string;
}

/** What the provider answers to one request. */
export interface ServerTurn {
  readonly reasoning?: string;
  readonly text?: string;
  /** How often the text is said. */
  readonly repeat?: number;
  readonly calls?: readonly ServerCall[];
  /** Characters per delta. */
  readonly chunk?: number;
  /** The deltas of parallel calls come in turns. */
  readonly interleave?: boolean;
  readonly finish?: "stop" | "length" | "content_filter";
  readonly fault?: ServerFault;
}

export interface ServerFault {
  /**
   * `status`: refused with a status. `silent`: no answer at all. `cut`: the connection breaks in the middle of a frame.
   * `end`: the stream ends too early, properly. `malformed`: a frame that is no JSON. `stall`: nothing more comes.
   * `error`: the wire's own error frame.
   */
  readonly kind: "status" | "silent" | "cut" | "end" | "malformed" | "stall" | "error";
  /** Frames that come before it. */
  readonly after?: number;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly message?: string;
}

export interface Refusal {
  readonly status: number;
  readonly message: string;
}

/** Ids and times of one server; a real one remembers what it gave out. */
export interface Issued {
  next(prefix: string): string;
  /** Signatures of reasoning, and ids of items with the item that has to stand before them. */
  readonly given: Map<string, string | undefined>;
}

export interface Wire {
  readonly path: string;
  /** Where the key is, and what precedes it. */
  readonly keyHeader: readonly [name: string, prefix: string];
  judge(body: JsonObject, issued: Issued): Refusal | undefined;
  speak(turn: ServerTurn, body: JsonObject, issued: Issued): Generator<string, void, undefined>;
  describeError(message: string, status: number): JsonObject;
  /** An error in the middle of a stream. */
  speakError(message: string): string;
}

export function* cut(text: string, size = 5): Generator<string, void, undefined> {
  const characters = Array.from(text);
  for (let at = 0; at < characters.length; at += size) yield characters.slice(at, at + size).join("");
}

export function* cutAnswer({ text = "", repeat = 1, chunk }: ServerTurn): Generator<string, void, undefined> {
  for (let n = 0; n < repeat; n++) yield* cut(text, chunk);
}

export function inputText({ input = {} }: ServerCall): string {
  return typeof input === "string" ? input : JSON.stringify(input);
}

/** The deltas of all calls: one call after the other, or in turns. */
export function listInputDeltas({
  calls = [],
  chunk,
  interleave = false,
}: ServerTurn): [call: number, delta: string][] {
  const deltas = calls.map((call, index) =>
    [...cut(inputText(call), chunk)].map((delta) => [index, delta] as [number, string]),
  );
  if (!interleave) return deltas.flat();
  const longest = Math.max(0, ...deltas.map((list) => list.length));
  return Array.from({ length: longest }, (_, at) => deltas.flatMap((list) => (list[at] ? [list[at]] : []))).flat();
}

export function asList(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly JsonObject[]) : [];
}

export function readText(value: JsonObject, name: string): string {
  const text = value[name];
  return typeof text === "string" ? text : "";
}

export const TOKENS = { prompt: 11, completion: 7 } as const;
