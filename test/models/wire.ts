/**
 * The interface of a provider API in the test server: how it validates a request, streams a turn and reports errors.
 */
import type { JsonObject } from "../../src/protocol/index.ts";

export interface ServerCall {
  readonly name: string;
  /** A string is streamed unchanged, valid JSON or not. */
  readonly input?: JsonObject | string;
  readonly id?: string;
}

/** The answer to one request. */
export interface ServerTurn {
  readonly reasoning?: string;
  /** Field of the reasoning in chat completions. Default: `reasoning_content`. */
  readonly reasoningField?: "reasoning_content" | "reasoning";
  readonly text?: string;
  /** The deltas of the text, instead of `text`. */
  readonly pieces?: readonly string[];
  /** How often the text is repeated. */
  readonly repeat?: number;
  readonly calls?: readonly ServerCall[];
  /** Characters per delta. */
  readonly chunk?: number;
  /** Whether the deltas of parallel calls alternate. */
  readonly interleave?: boolean;
  /** Default: `TOKENS`. */
  readonly tokens?: { readonly prompt: number; readonly completion: number };
  readonly finish?: "stop" | "length" | "content_filter";
  readonly fault?: ServerFault;
}

export interface ServerFault {
  /**
   * `status`: responds with a status. `silent`: does not respond. `cut`: the connection breaks within a frame. `end`:
   * the stream ends too early. `malformed`: a frame that is not JSON. `stall`: nothing more comes. `error`: an error
   * frame of the API.
   */
  readonly kind: "status" | "silent" | "cut" | "end" | "malformed" | "stall" | "error";
  /** Frames before the fault. */
  readonly after?: number;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly message?: string;
}

export interface Refusal {
  readonly status: number;
  readonly message: string;
}

/** The IDs a server has issued. */
export interface IssuedIds {
  next(prefix: string): string;
  /** Reasoning signatures, and item IDs with the item that must precede them. */
  readonly given: Map<string, string | undefined>;
}

export interface Wire {
  readonly path: string;
  /** The header of the key, and the prefix of its value. */
  readonly keyHeader: readonly [name: string, prefix: string];
  validate(body: JsonObject, issued: IssuedIds): Refusal | undefined;
  stream(turn: ServerTurn, body: JsonObject, issued: IssuedIds): Generator<string, void, undefined>;
  describeError(message: string, status: number): JsonObject;
  /** An error in the middle of a stream. */
  streamError(message: string): string;
}

export function* cut(text: string, size = 5): Generator<string, void, undefined> {
  const characters = Array.from(text);
  for (let at = 0; at < characters.length; at += size) yield characters.slice(at, at + size).join("");
}

export function* cutAnswer({ text = "", pieces, repeat = 1, chunk }: ServerTurn): Generator<string, void, undefined> {
  if (pieces !== undefined) return yield* pieces;
  for (let n = 0; n < repeat; n++) yield* cut(text, chunk);
}

export function inputText({ input = {} }: ServerCall): string {
  return typeof input === "string" ? input : JSON.stringify(input);
}

/** Lists the deltas of all calls, one call after the other or alternating. */
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
