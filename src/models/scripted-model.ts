/** A model for tests. It streams scripted answers, fails where the script says so, and records its requests. */
import { type JsonObject, LoomError } from "../protocol/index.ts";
import type { FinishReason, LanguageModel, ModelMessage, ModelSettings, ModelTool, ModelUsage } from "./model.ts";
import { createPartStream, type PartSource, waitForAbort } from "./part-stream.ts";
import { createAnswerParts, splitText, type SpecificationVersion } from "./create-parts.ts";
import type { StreamPart } from "./stream-part.ts";

/** A tool call in a scripted answer. */
export interface ScriptedCall {
  readonly name: string;
  /** A string is streamed unchanged, valid JSON or not. */
  readonly input?: JsonObject | string;
  /** Call ID. Default: derived from the turn and the position of the call. */
  readonly id?: string;
}

/** One scripted answer. */
export interface ScriptedTurn {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** Characters per delta. Default: that of the model. */
  readonly chunk?: number;
  /** Default: `tool_calls` if there are calls, otherwise `stop`. */
  readonly finishReason?: FinishReason;
  /** Default: an estimate. */
  readonly usage?: Partial<ModelUsage>;
  /** The answer starts when this promise resolves. */
  readonly until?: PromiseLike<unknown>;
  /** Makes the answer fail. */
  readonly fault?: ScriptedFault;
}

/** A scripted failure. */
export interface ScriptedFault {
  /**
   * `throw`: `doStream` rejects. `error`: an error part. `break`: the connection fails. `cut`: the stream ends without
   * a finish part. `stall`: nothing more comes until the call is aborted.
   */
  readonly kind: "throw" | "error" | "break" | "cut" | "stall";
  /** Deltas before the fault. Default: 0. */
  readonly after?: number;
  /** The error to fail with. Default: `new Error("Scripted failure")`. */
  readonly error?: unknown;
}

/** A request to the model, with the field names of the AI SDK. */
export interface ScriptedRequest extends ModelSettings {
  readonly prompt: readonly ModelMessage[];
  readonly tools?: readonly ModelTool[];
  readonly toolChoice?: { readonly type: string; readonly toolName?: string };
  readonly responseFormat?: JsonObject;
  readonly abortSignal?: AbortSignal;
}

/** The answers in order, or a function that returns the answer to each request. */
export type Script =
  | readonly ScriptedTurn[]
  | ((request: ScriptedRequest, turn: number) => ScriptedTurn | Promise<ScriptedTurn>);

/** Options of `ScriptedModel`. */
export interface ScriptedModelOptions {
  /** Default: `scripted`. */
  readonly provider?: string;
  /** Default: `scripted`. */
  readonly modelId?: string;
  /** Version of the AI SDK specification to stream. Default: `v4`. */
  readonly specificationVersion?: SpecificationVersion;
  /** Characters per delta. Default: 4. */
  readonly chunk?: number;
  /** How many requests are kept; the oldest are dropped. Default: 1,000. */
  readonly maxRequests?: number;
}

const CHUNK = 4;
const MAX_REQUESTS = 1000;

/**
 * A model that answers with a script and records its requests. After the last turn of a list it fails with
 * `model_failed`.
 *
 * ```ts
 * const model = new ScriptedModel([{ calls: [{ name: "add", input: { a: 1, b: 2 } }] }, { text: "3" }]);
 * ```
 */
export class ScriptedModel implements LanguageModel {
  readonly specificationVersion: SpecificationVersion;
  readonly provider: string;
  readonly modelId: string;
  /** The requests so far, in order. */
  readonly requests: ScriptedRequest[] = [];
  readonly #script: Script;
  readonly #chunk: number;
  readonly #maxRequests: number;
  #turns = 0;

  constructor(script: Script, options: ScriptedModelOptions = {}) {
    this.#script = script;
    this.specificationVersion = options.specificationVersion ?? "v4";
    this.provider = options.provider ?? "scripted";
    this.modelId = options.modelId ?? "scripted";
    this.#chunk = options.chunk ?? CHUNK;
    this.#maxRequests = options.maxRequests ?? MAX_REQUESTS;
  }

  /** The conversations of the requests so far. */
  get prompts(): readonly (readonly ModelMessage[])[] {
    return this.requests.map(({ prompt }) => prompt);
  }

  async doStream(request: ScriptedRequest): Promise<{ readonly stream: ReadableStream<StreamPart> }> {
    // A copy, because the conversation grows afterwards.
    const turn = await this.#findTurn({ ...request, prompt: [...request.prompt] });
    request.abortSignal?.throwIfAborted();
    // oxlint-disable-next-line typescript/only-throw-error -- providers throw anything
    if (turn.fault?.kind === "throw") throw turn.fault.error ?? new Error("Scripted failure");
    const parts = this.#play(turn, request, this.#turns);
    const source = turn.fault === undefined ? parts : breakParts(parts, turn.fault, request.abortSignal);
    return { stream: createPartStream(source, request.abortSignal) };
  }

  async #findTurn(request: ScriptedRequest): Promise<ScriptedTurn> {
    const index = this.#turns++;
    if (this.requests.push(request) > this.#maxRequests) this.requests.shift();
    const script = this.#script;
    if (typeof script === "function") return script(request, index);
    const turn = script[index];
    if (turn !== undefined) return turn;
    throw new LoomError("model_failed", `The script has ${script.length} turns, but the model was called once more`);
  }

  *#play(turn: ScriptedTurn, { prompt }: ScriptedRequest, number: number): PartSource {
    const { reasoning = "", text = "", calls = [], chunk = this.#chunk, finishReason, usage } = turn;
    yield { type: "stream-start" };
    if (turn.until !== undefined) yield turn.until;
    yield* createAnswerParts({
      modelId: this.modelId,
      version: this.specificationVersion,
      reasoning,
      text,
      calls: calls.map(({ name, input = {}, id }, index) => ({
        id: id ?? `call_${number}_${index + 1}`,
        name,
        input: typeof input === "string" ? input : JSON.stringify(input),
      })),
      finishReason,
      prompt: JSON.stringify(prompt),
      usage,
      split: (piece) => splitText(piece, chunk),
    });
  }
}

/** Yields the parts before the fault, then the fault. */
function* breakParts(parts: PartSource, fault: ScriptedFault, signal: AbortSignal | undefined): PartSource {
  const { kind, after = 0, error = new Error("Scripted failure") } = fault;
  let left = after;
  for (let next = parts.next(); next.done !== true; next = parts.next()) {
    const isDelta = "type" in next.value && next.value.type.endsWith("-delta");
    const isEnd = "type" in next.value && next.value.type === "finish";
    if (isEnd || (isDelta && left-- === 0)) break;
    yield next.value;
  }
  if (kind === "error") yield { type: "error", error };
  else if (kind === "break") throw error;
  else if (kind === "stall") yield waitForAbort(signal);
}
