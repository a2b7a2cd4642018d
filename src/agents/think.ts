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
import { callModel } from "../models/call-model.ts";
import { resolveCallSettings } from "../models/call-settings.ts";
import { joinUserMessages } from "../models/join-user-messages.ts";
import {
  formatModel,
  hasStructuredOutput,
  PROVIDER_FAILURES,
  recordRefusal,
  STRUCTURED_OUTPUT,
} from "../models/model-fault.ts";
import type {
  AssistantPart,
  LanguageModel,
  ModelListener,
  ModelMessage,
  ModelRequest,
  ModelResult,
  ModelToolCall,
} from "../models/model.ts";
import { cutText } from "../protocol/cut-text.ts";
import { dropUndefined } from "../protocol/drop-undefined.ts";
import { isLoomError, LoomError, type LoomEvent } from "../protocol/index.ts";
import { isThinkingChannel } from "../protocol/record.ts";
import { endOfPiece } from "../tools/tool-output.ts";
import type { AgentContext } from "./agent-kind.ts";
import type { AgentRun } from "./agent-run.ts";
import { createWarning } from "./create-warning.ts";

/** What a model call returned. */
export interface ThinkResult {
  readonly result: ModelResult;
  /** The same content, with the call IDs used in this run. */
  readonly content: readonly AssistantPart[];
  readonly calls: readonly ModelToolCall[];
}

export interface ThinkOptions extends Pick<ModelRequest, "tools" | "toolChoice" | "responseFormat"> {
  readonly span: NodeRun;
  readonly signal: AbortSignal;
  /** Distinguishes several calls of one span. */
  readonly label?: string;
  /** Number of this sample; becomes part of the seed, so that samples of one prompt differ. */
  readonly sample?: number;
  /**
   * True if a client chose the format: if the provider rejects it, that says nothing about the model. Default: false.
   */
  readonly isClientFormat?: boolean;
  /** What the text is: for the user, a step of a search, or a rating of such steps. Default: `answer`. */
  readonly channel?: "answer" | "thought" | "judgement";
  /** True if the text is JSON that the agent asked for, not to be read as a thought. The reasoning is. Default: false. */
  readonly isJson?: boolean;
}

/**
 * Calls the model of the agent and writes its answer as events, without waiting until they are durable unless the log
 * falls behind.
 */
export function think(
  context: AgentContext,
  messages: readonly ModelMessage[],
  options: ThinkOptions,
): Promise<ThinkResult> {
  return new ModelThought(context, messages, options).think();
}

/** Listens to the model, and calls it again or another one if its provider refuses. */
class ModelThought implements ModelListener {
  readonly #context: AgentContext;
  readonly #request: ModelRequest;
  readonly #options: ThinkOptions;
  readonly #attempts: ModelAttempts;
  readonly #calls: ModelToolCall[] = [];
  /** IDs of calls in this run, by the IDs of the provider. */
  readonly #callIds = new Map<string, string>();
  /** The model that is called at present. */
  #model: LanguageModel;
  /** Undefined if no format is requested, or if the provider has rejected it. */
  #format: ModelRequest["responseFormat"];
  #hasOutput = false;

  constructor(context: AgentContext, messages: readonly ModelMessage[], options: ThinkOptions) {
    const { span, label, sample, tools, toolChoice, responseFormat } = options;
    const { settings } = context;
    const seed = sample === undefined ? {} : { seed: (settings.seed ?? 0) + sample };
    const further = dropUndefined({ tools, toolChoice, responseFormat });
    this.#context = context;
    this.#request = { messages, ...further, settings: { ...settings, ...seed } };
    this.#options = options;
    this.#model = context.model;
    const name = label === undefined ? span.nodeId : `${span.nodeId}.${label}`;
    this.#attempts = new ModelAttempts(this.#write, () => context.run.now(), name);
  }

  async think(): Promise<ThinkResult> {
    const { fit, recorder, stage } = this.#context;
    const { span, signal } = this.#options;
    const request = this.#request;
    try {
      const fitted = fit === undefined ? request.messages : await fit(request, { span, post: this.#write, signal });
      const result = await this.#askInTurn(fitted);
      if (this.#context.run.isBehind) await this.#waitForRoom();
      const content = result.content.map((part) =>
        part.type === "tool-call"
          ? { ...part, toolName: cutName(part.toolName), toolCallId: this.#findCallId(part.toolCallId) }
          : part,
      );
      this.#attempts.end(result, (id) => recorder?.response(this.#write, id, { role: "assistant", content }));
      return { result, content, calls: this.#calls };
    } catch (error) {
      this.#attempts.fail(error);
      throw withStage(error, stage);
    }
  }

  /** Calls the models in turn until one answers. */
  async #askInTurn(messages: readonly ModelMessage[]): Promise<ModelResult> {
    const { fallbacks, stage } = this.#context;
    for (const next of [...fallbacks, undefined]) {
      try {
        const result = await this.#ask(messages, next === undefined);
        if (next === undefined || this.#hasOutput || result.finishReason !== "content_filter") return result;
        throw new LoomError("model_failed", `${formatModel(this.#model)} refused to answer`);
      } catch (error) {
        if (next === undefined || this.#hasOutput || !isLoomError(error, ...PROVIDER_FAILURES)) throw error;
        this.#attempts.fail(error);
        const why = error.message.replace(/\.$/, "");
        this.#write(createWarning(`${why}; continuing with ${formatModel(next)}`, stage, error.code));
        this.#model = next;
      }
    }
    throw new LoomError("internal_error", "There is no model to call");
  }

  /** Calls one model. A format or a file that its provider rejects is left out. */
  async #ask(messages: readonly ModelMessage[], isLast: boolean): Promise<ModelResult> {
    const { attachments, callOptions } = this.#context;
    const { responseFormat, isClientFormat = false } = this.#options;
    this.#format = hasStructuredOutput(this.#model) ? responseFormat : undefined;
    const joined = joinUserMessages(messages);
    const resolved = attachments.resolve(joined);
    // Awaiting only a real promise keeps the order of parallel node runs the same with and without files.
    const attached = resolved instanceof Promise ? await resolved : resolved;
    const askWithoutFormat = async (error: unknown): Promise<ModelResult> => {
      if (this.#format === undefined || !isRefusal(error)) throw error;
      this.#format = undefined;
      const result = await this.#call(attached, isLast);
      const { refusalMs } = resolveCallSettings(callOptions);
      if (!isClientFormat) recordRefusal(this.#model, STRUCTURED_OUTPUT, refusalMs);
      this.#warn(STRUCTURED_OUTPUT, error, isClientFormat ? undefined : refusalMs);
      return result;
    };
    const askWithoutFiles = async (error: unknown): Promise<ModelResult> => {
      if (!isRefusal(error) || !attached.some(hasFile)) throw error;
      // Otherwise the rejected file would be sent again with every later turn.
      attachments.omitFiles();
      const result = await this.#call(await attachments.resolve(joined), isLast);
      this.#warn("a file", error);
      return result;
    };
    return this.#call(attached, isLast).catch(askWithoutFormat).catch(askWithoutFiles);
  }

  #call(messages: readonly ModelMessage[], isLast: boolean): Promise<ModelResult> {
    const { callOptions } = this.#context;
    const { signal } = this.#options;
    const { responseFormat: _, ...unformatted } = this.#request;
    const request = { ...unformatted, ...dropUndefined({ responseFormat: this.#format }), messages };
    // With another model to call, it is not worth waiting for this one.
    const options = isLast ? callOptions : { maxRetries: 0, ...callOptions };
    return callModel(this.#model, request, this, { ...options, signal });
  }

  onRefusal({ feature, error }: { readonly feature: string; readonly error: LoomError }): void {
    this.#warn(feature, error, resolveCallSettings(this.#context.callOptions).refusalMs);
  }

  async onStart({ request }: { readonly request: ModelRequest }): Promise<void> {
    const { recorder, run } = this.#context;
    if (run.isBehind) await this.#waitForRoom();
    await this.#attempts.start(this.#model, (id) => recorder?.request(this.#write, id, this.#model, request));
  }

  onText(delta: string): Promise<void> | undefined {
    this.#hasOutput = true;
    const { channel, isJson = false, span } = this.#options;
    // Structured thoughts are not text for users; the events of the search have their values.
    if (isThinkingChannel(channel) && this.#format !== undefined) return undefined;
    const spoken = isJson ? { channel: "judgement" as const } : dropUndefined({ channel });
    return postPieces(delta, (content) => this.#post({ type: "message_chunk", content, id: span.name, ...spoken }));
  }

  onReasoning(delta: string): Promise<void> | undefined {
    this.#hasOutput = true;
    const { channel, span } = this.#options;
    const reasoned = channel === "judgement" ? { channel } : undefined;
    return postPieces(delta, (content) => this.#post({ type: "reasoning_chunk", content, id: span.name, ...reasoned }));
  }

  /** Written immediately, because the next event must come after it. */
  onReasoningEnd(): void {
    this.#write({ type: "reasoning_end", id: this.#options.span.name });
  }

  onToolInput(
    { callId, name, index }: Pick<ModelToolCall, "callId" | "name" | "index">,
    delta: string,
  ): Promise<void> | undefined {
    this.#hasOutput = true;
    const call = { call_id: this.#findCallId(callId), name: cutName(name) };
    return postPieces(delta, (arguments_delta) =>
      this.#post({ type: "tool_call_chunk", ...call, arguments_delta, index }),
    );
  }

  onToolCall(made: ModelToolCall): Promise<void> | undefined {
    this.#hasOutput = true;
    const { index, input, rawInput } = made;
    const name = cutName(made.name);
    const callId = this.#findCallId(made.callId);
    this.#calls.push({ ...made, name, callId });
    const about = this.#context.describeCall(name, input ?? {});
    const raw = input === undefined ? { raw_arguments: rawInput } : {};
    return this.#post({ type: "tool_call", call_id: callId, name, arguments: input ?? {}, ...about, index, ...raw });
  }

  readonly #write = (event: LoomEvent): PushResult =>
    this.#context.run.post(event, { nodeId: this.#options.span.nodeId });

  /** Writes an event, once there is room in the log. */
  #post(event: LoomEvent): Promise<void> | undefined {
    if (this.#context.run.isBehind) return this.#postLater(event);
    this.#write(event);
    return undefined;
  }

  async #postLater(event: LoomEvent): Promise<void> {
    await this.#waitForRoom();
    this.#write(event);
  }

  /** Checks again after each wait, because all waiting calls wake up together. */
  async #waitForRoom(): Promise<void> {
    const { run } = this.#context;
    while (run.isBehind) await run.ready();
  }

  /**
   * Reports what the provider refused, because users would not know why it has no effect. `ms` is how long it is left out
   * of the calls of all runs.
   */
  #warn(feature: string, { message }: LoomError, ms?: number): void {
    const scope = ms === undefined || ms === Infinity ? "" : ` for ${Math.round(ms / 1000)} s`;
    const what = `${formatModel(this.#model)} refused ${feature}; continuing without it${scope}`;
    const text = `${what}. The provider said: ${message}`;
    this.#write(createWarning(text, this.#context.stage, "model_feature_refused"));
  }

  #findCallId(given: string): string {
    let id = this.#callIds.get(given);
    if (id === undefined) {
      id = makeUnique(cutName(given), this.#options.span.nodeId, this.#context.run.work);
      this.#callIds.set(given, id);
    }
    return id;
  }
}

const REFUSALS: ReadonlySet<unknown> = new Set([400, 404, 413, 415, 422]);

/** The provider rejects the request itself; sending it again would not help. */
function isRefusal(error: unknown): error is LoomError {
  return isLoomError(error, "model_failed", "model_not_found") && REFUSALS.has(error.details["status"]);
}

function hasFile({ role, content }: ModelMessage): boolean {
  return role === "user" && content.some(({ type }) => type === "file");
}

/** Writes `llm_start` and `llm_end` of each attempt. */
class ModelAttempts {
  readonly #post: (event: LoomEvent) => PushResult;
  readonly #now: () => number;
  readonly #name: string;
  #count = 0;
  #open: { readonly id: string; readonly model: string; readonly since: number } | undefined;

  constructor(post: (event: LoomEvent) => PushResult, now: () => number, name: string) {
    this.#post = post;
    this.#now = now;
    this.#name = name;
  }

  /** Resolves when the event is durable. `onStarted` can write more events about the call. */
  async start(called: LanguageModel, onStarted: (callId: string) => void): Promise<void> {
    if (this.#open !== undefined) this.#end("error", "retried");
    const model = formatModel(called);
    const attempt = this.#count++;
    const id = `${this.#name}.${attempt}`;
    this.#open = { id, model, since: this.#now() };
    const { durable } = this.#post({ type: "llm_start", llm_call_id: id, model, attempt });
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
    const { id, model, since } = this.#open;
    this.#open = undefined;
    this.#post({
      type: "llm_end",
      llm_call_id: id,
      model,
      finish_reason,
      duration_ms: Math.max(0, Math.round(this.#now() - since)),
      ...dropUndefined({ error, error_code }),
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
