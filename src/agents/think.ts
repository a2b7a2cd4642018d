/**
 * One model call as part of a node run. Streams the output into the log and returns it for the conversation.
 *
 * Invariant: every `llm_start` gets an `llm_end`, and a failed call throws an error with its stage. The model is called
 * after its `llm_start` is durable, together with everything the prompt is made of, so finished work is not requested
 * again. Tool call IDs are unique within a run.
 */
import type { NodeRun } from "../engine/index.ts";
import { describeError } from "../engine/node-run.ts";
import type { PushResult } from "../engine/sequencer.ts";
import type { AgentRun } from "./agent-run.ts";
import type { Attachments } from "./attachments.ts";
import type { ContentRecorder } from "./content-recorder.ts";
import type { Prompt } from "../context/compression/prompt-tokens.ts";
import { hasStructuredOutput } from "./create-format.ts";
import { callModel } from "../models/call-model.ts";
import { resolveCallSettings } from "../models/call-settings.ts";
import { formatModel, PROVIDER_FAILURES } from "../models/model-fault.ts";
import { recordRefusal, STRUCTURED_OUTPUT } from "../models/refused-features.ts";
import { joinUserMessages } from "../models/join-user-messages.ts";
import type {
  AssistantPart,
  LanguageModel,
  ModelCallOptions,
  ModelListener,
  ModelMessage,
  ModelRequest,
  ModelResult,
  ModelToolCall,
} from "../models/model.ts";
import { isLoomError, type JsonObject, LoomError, type LoomEvent } from "../protocol/index.ts";
import type { ToolCallEvent } from "../protocol/events.generated.ts";
import { isThinkingChannel } from "../protocol/record.ts";
import { endOfPiece } from "../tools/tool-output.ts";
import { cutText } from "../protocol/cut-text.ts";

/** What a model call returned. */
export interface ThinkResult {
  readonly result: ModelResult;
  /** The same content, with the call IDs used in this run. */
  readonly content: readonly AssistantPart[];
  readonly calls: readonly ModelToolCall[];
}

/** Options of a model call, and what happens to its prompt first. */
export interface ThinkCallOptions extends ModelCallOptions {
  /** Makes a prompt fit the context window and records what it did within the span. */
  readonly fit?: (prompt: Prompt, context: FitContext) => Promise<readonly ModelMessage[]>;
  readonly files?: Pick<Attachments, "resolve" | "omitFiles">;
  /** Models to call in turn if a model refuses, fails or times out before it has sent anything. Default: none. */
  readonly fallbacks?: readonly LanguageModel[];
  /** Records what the model is sent and what it returns. Default: nothing is recorded. */
  readonly recorder?: ContentRecorder;
  /** Describes a call for the user. Empty for tools that the model made up. */
  readonly describeCall?: (name: string, input: JsonObject) => Pick<ToolCallEvent, "description" | "server">;
}

export interface FitContext {
  readonly span: NodeRun;
  /** Writes an event within the span. */
  readonly post: (event: LoomEvent) => PushResult;
  readonly signal: AbortSignal;
}

export interface ThinkOptions extends ThinkCallOptions {
  /** The `stage` of the error if the call fails. */
  readonly stage: string;
  readonly signal: AbortSignal;
  /** Distinguishes several calls of one span. */
  readonly label?: string;
  /**
   * True if a client chose the format: if the provider rejects it, that says nothing about the model. Default: false.
   */
  readonly isClientFormat?: boolean;
  /** What the text is: for the user, a step of a search, or a rating of such steps. Default: `answer`. */
  readonly channel?: "answer" | "thought" | "judgement";
  /** True if the text is JSON that the agent asked for, not to be read as a thought. The reasoning is. Default: false. */
  readonly isJson?: boolean;
  /**
   * The run of the span. Output is written without waiting until it is durable, unless the log falls behind.
   *
   * @internal
   */
  readonly run: Pick<AgentRun, "post" | "isBehind" | "ready" | "now" | "work">;
}

/** Calls the model and writes its answer as events. @internal */
export async function think(
  span: NodeRun,
  model: LanguageModel,
  request: ModelRequest,
  {
    stage,
    run,
    channel,
    label,
    fit,
    files,
    fallbacks = [],
    recorder,
    describeCall,
    isClientFormat = false,
    isJson = false,
    ...options
  }: ThinkOptions,
): Promise<ThinkResult> {
  const { name: id } = span;
  const target = { nodeId: span.nodeId };
  const write = (event: LoomEvent): PushResult => run.post(event, target);
  /** Checks again after each wait, because all waiting calls wake up together. */
  const waitForRoom = async (): Promise<void> => {
    while (run.isBehind) await run.ready();
  };
  const writeLater = async (event: LoomEvent): Promise<void> => {
    await waitForRoom();
    write(event);
  };
  const post = (event: LoomEvent): Promise<void> | undefined => {
    if (run.isBehind) return writeLater(event);
    write(event);
    return undefined;
  };
  const callName = label === undefined ? span.nodeId : `${span.nodeId}.${label}`;
  const call = new ModelCallSpan(write, () => run.now(), callName, formatModel(model));
  const ids = new Map<string, string>();
  const idOf = (callId: string): string => {
    let id = ids.get(callId);
    if (id === undefined) ids.set(callId, (id = makeUnique(cutName(callId), span.nodeId, run.work)));
    return id;
  };
  const spoken = isJson ? { channel: "judgement" as const } : channel === undefined ? undefined : { channel };
  const reasoned = channel === "judgement" ? { channel } : undefined;
  const { responseFormat, ...unformatted } = request;
  let format: Pick<ModelRequest, "responseFormat"> = {};
  /** Structured thoughts are not text for users; the events of the search have their values. */
  const isData = (): boolean => isThinkingChannel(channel) && "responseFormat" in format;
  const calls: ModelToolCall[] = [];
  let attempts = 0;
  let hasOutput = false;
  /** The model that is called at present. */
  let current = model;
  const { refusalMs } = resolveCallSettings(options);
  /** Without it, users would not know why reasoning, structured output or files have no effect. */
  const warn = (feature: string, error: LoomError, ms?: number): void =>
    void write(describeRefusal(current, feature, error, stage, ms));
  const listener: ModelListener = {
    onRefusal: ({ feature, error }) => warn(feature, error, refusalMs),
    onStart: async ({ request: sent }) => {
      if (run.isBehind) await waitForRoom();
      await call.start(attempts++, (callId) => recorder?.request(write, callId, current, sent));
    },
    onText: (delta) => {
      hasOutput = true;
      if (isData()) return undefined;
      return postPieces(delta, (content) => post({ type: "message_chunk", content, id, ...spoken }));
    },
    onReasoning: (delta) => {
      hasOutput = true;
      return postPieces(delta, (content) => post({ type: "reasoning_chunk", content, id, ...reasoned }));
    },
    // Written immediately, because the next event must come after it.
    onReasoningEnd: () => void write({ type: "reasoning_end", id }),
    onToolInput: ({ callId, name, index }, delta) => {
      hasOutput = true;
      const call_id = idOf(callId);
      return postPieces(delta, (arguments_delta) =>
        post({ type: "tool_call_chunk", call_id, name: cutName(name), arguments_delta, index }),
      );
    },
    onToolCall: (made) => {
      hasOutput = true;
      const { index, input, rawInput } = made;
      const name = cutName(made.name);
      const callId = idOf(made.callId);
      calls.push({ ...made, name, callId });
      const about = describeCall?.(name, input ?? {});
      const raw = input === undefined ? { raw_arguments: rawInput } : {};
      return post({ type: "tool_call", call_id: callId, name, arguments: input ?? {}, ...about, index, ...raw });
    },
  };
  /** Calls one model. A format or a file that its provider rejects is left out. */
  const ask = async (asked: LanguageModel, fitted: readonly ModelMessage[], next: LanguageModel | undefined) => {
    format = responseFormat !== undefined && hasStructuredOutput(asked) ? { responseFormat } : {};
    const joined = joinUserMessages(fitted);
    // With another model to call, it is not worth waiting for this one.
    const own = next === undefined ? options : { maxRetries: 0, ...options };
    const callWith = (messages: readonly ModelMessage[]): Promise<ModelResult> =>
      callModel(asked, { ...unformatted, ...format, messages }, listener, own);
    const resolved = files?.resolve(joined) ?? joined;
    // Awaiting only a real promise keeps the order of parallel node runs the same with and without files.
    const attached = resolved instanceof Promise ? await resolved : resolved;
    const callWithoutFormat = async (error: unknown): Promise<ModelResult> => {
      if (!("responseFormat" in format) || !isRefusal(error)) throw error;
      format = {};
      const result = await callWith(attached);
      if (!isClientFormat) recordRefusal(asked, STRUCTURED_OUTPUT, refusalMs);
      warn(STRUCTURED_OUTPUT, error, isClientFormat ? undefined : refusalMs);
      return result;
    };
    return callWith(attached)
      .catch(callWithoutFormat)
      .catch(async (error: unknown) => {
        if (files === undefined || !isRefusal(error) || !attached.some(hasFile)) throw error;
        // Otherwise the rejected file would be sent again with every later turn.
        files.omitFiles();
        const result = await callWith(await files.resolve(joined));
        warn("a file", error);
        return result;
      });
  };
  /** Calls the models in turn until one answers. */
  const askInTurn = async (fitted: readonly ModelMessage[]): Promise<ModelResult> => {
    for (const next of [...fallbacks, undefined]) {
      try {
        const result = await ask(current, fitted, next);
        if (next === undefined || hasOutput || result.finishReason !== "content_filter") return result;
        throw new LoomError("model_failed", `${formatModel(current)} refused to answer`);
      } catch (error) {
        if (next === undefined || hasOutput || !isLoomError(error, ...PROVIDER_FAILURES)) throw error;
        call.fail(error);
        write(describeSwitch(error, next, stage));
        call.model = formatModel(next);
        current = next;
      }
    }
    throw new LoomError("internal_error", "There is no model to call");
  };
  try {
    const fitted =
      fit === undefined ? request.messages : await fit(request, { span, post: write, signal: options.signal });
    const result = await askInTurn(fitted);
    if (run.isBehind) await waitForRoom();
    const content = result.content.map((part) =>
      part.type === "tool-call"
        ? { ...part, toolName: cutName(part.toolName), toolCallId: idOf(part.toolCallId) }
        : part,
    );
    call.end(result, (callId) => recorder?.response(write, callId, { role: "assistant", content }));
    return { result, content, calls };
  } catch (error) {
    call.fail(error);
    throw withStage(error, stage);
  }
}

const REFUSALS: ReadonlySet<unknown> = new Set([400, 404, 413, 415, 422]);

function describeSwitch({ message, code }: LoomError, next: LanguageModel, stage: string): LoomEvent {
  const text = `${message.replace(/\.$/, "")}; continuing with ${formatModel(next)}`;
  return { type: "error", message: text, code, stage, recoverable: true };
}

/** Describes what the provider refused. `ms` is how long it is left out of the calls of all runs. */
function describeRefusal(
  model: LanguageModel,
  feature: string,
  { message }: LoomError,
  stage: string,
  ms: number | undefined,
): LoomEvent {
  const scope = ms === undefined || ms === Infinity ? "" : ` for ${Math.round(ms / 1000)} s`;
  const text = `${formatModel(model)} refused ${feature}; continuing without it${scope}. The provider said: ${message}`;
  return { type: "error", message: text, code: "model_feature_refused", stage, recoverable: true };
}

/** The provider rejects the request itself; sending it again would not help. */
function isRefusal(error: unknown): error is LoomError {
  return isLoomError(error, "model_failed", "model_not_found") && REFUSALS.has(error.details["status"]);
}

function hasFile({ role, content }: ModelMessage): boolean {
  return role === "user" && content.some(({ type }) => type === "file");
}

/** Writes `llm_start` and `llm_end` of each attempt. */
class ModelCallSpan {
  readonly #post: (event: LoomEvent) => PushResult;
  readonly #now: () => number;
  readonly #name: string;
  model: string;
  #open: { readonly id: string; readonly since: number } | undefined;

  constructor(post: (event: LoomEvent) => PushResult, now: () => number, name: string, model: string) {
    this.#post = post;
    this.#now = now;
    this.#name = name;
    this.model = model;
  }

  /** Resolves when the event is durable. `onStarted` can write more events about the call. */
  async start(attempt: number, onStarted: (callId: string) => void): Promise<void> {
    if (this.#open !== undefined) this.#end("error", "retried");
    const id = `${this.#name}.${attempt}`;
    this.#open = { id, since: this.#now() };
    const { durable } = this.#post({ type: "llm_start", llm_call_id: id, model: this.model, attempt });
    onStarted(id);
    await durable;
  }

  end({ usage, finishReason }: ModelResult, onEnding: (callId: string) => void): void {
    if (this.#open !== undefined) onEnding(this.#open.id);
    const { promptTokens, completionTokens, totalTokens, cachedTokens = 0 } = usage;
    if (promptTokens !== undefined || completionTokens !== undefined || totalTokens !== undefined) {
      const prompt_tokens = promptTokens ?? 0;
      const completion_tokens = completionTokens ?? 0;
      this.#post({
        type: "usage",
        prompt_tokens,
        completion_tokens,
        total_tokens: totalTokens ?? prompt_tokens + completion_tokens,
        ...(this.#open === undefined ? {} : { llm_call_id: this.#open.id }),
        ...(cachedTokens === 0 ? {} : { cached_tokens: cachedTokens }),
      });
    }
    this.#end(finishReason);
  }

  fail(error: unknown): void {
    try {
      this.#end("error", describeError(error), isLoomError(error) ? error.code : undefined);
    } catch {
      // The run has ended and closed the call; the original error matters more.
    }
  }

  #end(finish_reason: string, error?: string, error_code?: string): void {
    if (this.#open === undefined) return;
    const { id, since } = this.#open;
    this.#open = undefined;
    this.#post({
      type: "llm_end",
      llm_call_id: id,
      model: this.model,
      finish_reason,
      duration_ms: Math.max(0, Math.round(this.#now() - since)),
      ...(error === undefined ? {} : { error }),
      ...(error_code === undefined ? {} : { error_code }),
    });
  }
}

/** Maximum characters of one event, so that a large delta fits into a record. */
const MAX_PIECE = 64 * 1024;

function postPieces(delta: string, post: (piece: string) => Promise<void> | undefined): Promise<void> | undefined {
  if (delta.length <= MAX_PIECE) return delta === "" ? undefined : post(delta);
  return postAll(delta, post);
}

async function postAll(delta: string, post: (piece: string) => Promise<void> | undefined): Promise<void> {
  for (let from = 0; from < delta.length;) {
    const end = endOfPiece(delta, from, MAX_PIECE);
    await post(delta.slice(from, end));
    from = end;
  }
}

/** Some servers produce very long names and IDs. */
const MAX_NAME_LENGTH = 256;

function cutName(name: string): string {
  return cutText(name.toWellFormed(), MAX_NAME_LENGTH);
}

/**
 * Returns a call ID that this run has not used. A model that is called again after a crash may repeat its IDs, and many
 * models number calls from the start in every answer. The number of the node run makes the ID unique; only a repeated
 * ID within one node run needs a further suffix.
 */
function makeUnique(callId: string, nodeId: string, work: AgentRun["work"]): string {
  if (!work.hasUsedCallId(callId)) return callId;
  const own = `${callId}_${/\d+$/.exec(nodeId)?.[0] ?? ""}`;
  let id = own;
  for (let n = 2; work.hasUsedCallId(id); n++) id = `${own}_${n}`;
  return id;
}

export function withStage(error: unknown, stage: string): unknown {
  if (!isLoomError(error)) return error;
  return new LoomError(error.code, error.message, { ...error.details, stage }, { cause: error });
}
