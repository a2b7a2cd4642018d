/**
 * A model for tests: it plays a script and remembers what it was asked. It streams like a provider, fails like one when
 * the script says so, and knows nothing.
 */
import { type JsonObject, LoomError } from "../protocol/index.ts";
import type { FinishReason, LanguageModel, ModelMessage, ModelSettings, ModelTool, ModelUsage } from "./model.ts";
import { createPartStream, type PartSource, waitForAbort } from "./part-stream.ts";
import { countUsage, cutText, speakBlock, speakCall, speakFinish, type SpecificationVersion } from "./spoken-parts.ts";
import type { StreamPart } from "./stream-part.ts";

export interface ScriptedCall {
  readonly name: string;
  /** A text is streamed as it is, valid or not. */
  readonly input?: JsonObject | string;
  readonly id?: string;
}

export interface ScriptedTurn {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** Characters per delta; those of the model when absent. */
  readonly chunk?: number;
  readonly finishReason?: FinishReason;
  /** Estimated when absent. */
  readonly usage?: Partial<ModelUsage>;
  /** Nothing is said before it resolves. */
  readonly until?: PromiseLike<unknown>;
  readonly fault?: ScriptedFault;
}

export interface ScriptedFault {
  /**
   * `throw`: there is no stream at all. `error`: a part that says so. `break`: the connection is lost. `cut`: the stream
   * ends and nobody said that it was whole. `stall`: nothing more comes, until it is aborted.
   */
  readonly kind: "throw" | "error" | "break" | "cut" | "stall";
  /** Deltas that come before it. */
  readonly after?: number;
  readonly error?: unknown;
}

/** What the model was asked, in the words of the AI SDK. */
export interface ScriptedRequest extends ModelSettings {
  readonly prompt: readonly ModelMessage[];
  readonly tools?: readonly ModelTool[];
  readonly toolChoice?: { readonly type: string; readonly toolName?: string };
  readonly responseFormat?: JsonObject;
  readonly abortSignal?: AbortSignal;
}

export type Script =
  | readonly ScriptedTurn[]
  | ((request: ScriptedRequest, turn: number) => ScriptedTurn | Promise<ScriptedTurn>);

export interface ScriptedModelOptions {
  readonly provider?: string;
  readonly modelId?: string;
  readonly specificationVersion?: SpecificationVersion;
  /** Characters per delta. */
  readonly chunk?: number;
  /** Requests that are remembered, the latest. */
  readonly maxRequests?: number;
}

const CHUNK = 4;
const MAX_REQUESTS = 1000;

export class ScriptedModel implements LanguageModel {
  readonly specificationVersion: SpecificationVersion;
  readonly provider: string;
  readonly modelId: string;
  /** What it was asked, in order. */
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

  /** The conversations it was given. */
  get prompts(): readonly (readonly ModelMessage[])[] {
    return this.requests.map(({ prompt }) => prompt);
  }

  async doStream(request: ScriptedRequest): Promise<{ readonly stream: ReadableStream<StreamPart> }> {
    // A copy: the conversation it belongs to goes on.
    const turn = await this.#findTurn({ ...request, prompt: [...request.prompt] });
    request.abortSignal?.throwIfAborted();
    // oxlint-disable-next-line typescript/only-throw-error -- providers throw anything
    if (turn.fault?.kind === "throw") throw turn.fault.error ?? new Error("scripted failure");
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
    throw new LoomError("model_failed", `The script has ${script.length} turns, and the model was asked once more.`);
  }

  *#play(turn: ScriptedTurn, { prompt }: ScriptedRequest, place: number): PartSource {
    const { reasoning = "", text = "", calls = [], chunk = this.#chunk } = turn;
    yield { type: "stream-start" };
    if (turn.until !== undefined) yield turn.until;
    yield { type: "response-metadata", modelId: this.modelId };
    if (reasoning !== "") yield* speakBlock("reasoning", "reasoning", cutText(reasoning, chunk));
    if (text !== "") yield* speakBlock("text", "text", cutText(text, chunk));
    const inputs = calls.map(({ input = {} }) => (typeof input === "string" ? input : JSON.stringify(input)));
    for (const [index, { name, id }] of calls.entries()) {
      const callId = id ?? `call_${place}_${index + 1}`;
      yield* speakCall(callId, name, cutText(inputs[index] ?? "", chunk));
    }
    const usage = { ...countUsage(JSON.stringify(prompt), [reasoning, text, ...inputs].join("")), ...turn.usage };
    yield speakFinish(
      turn.finishReason ?? (calls.length > 0 ? "tool_calls" : "stop"),
      usage,
      this.specificationVersion,
    );
  }
}

/** The parts up to the fault, and the fault. */
function* breakParts(parts: PartSource, fault: ScriptedFault, signal: AbortSignal | undefined): PartSource {
  const { kind, after = 0, error = new Error("scripted failure") } = fault;
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
