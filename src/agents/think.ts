/**
 * One call of a model as a node run: everything it says is written as it says it, and what it said is returned for the
 * conversation. It knows no graph and no tool beyond its description.
 *
 * Invariant: an `llm_start` has its `llm_end`, whatever happens, and a failed call leaves as an error that names its
 * stage. The model is not asked before its `llm_start` is durable, and with it all that the question is made of: what was
 * finished is not asked for again. Within a run no two calls of tools have the same id.
 */
import { describeError, type NodeRun, type Pushed, type Run } from "../engine/index.ts";
import type { Attachments } from "./attachments.ts";
import type { Prompt } from "../context/compression/compressor.ts";
import { callModel } from "../models/call-model.ts";
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
import { isLoomError, LoomError, type LoomEvent } from "../protocol/index.ts";
import { endOfPiece } from "../tools/tool-output.ts";

export interface Thought {
  readonly result: ModelResult;
  /** The same, with the ids that the calls have in this run. */
  readonly content: readonly AssistantPart[];
  readonly calls: readonly ModelToolCall[];
}

/** How a model is called, and what is done to a prompt before it is sent. */
export interface ThinkCallOptions extends ModelCallOptions {
  /** Makes a prompt fit the model, and writes what it did within the span. */
  readonly fit?: (prompt: Prompt, place: FitPlace) => Promise<readonly ModelMessage[]>;
  readonly files?: Pick<Attachments, "resolve" | "leaveOut">;
  /** What a call of a tool does, for people. A model may make up tools: of those there is nothing to say. */
  readonly describeCall?: (name: string) => string | undefined;
}

export interface FitPlace {
  readonly span: NodeRun;
  readonly signal: AbortSignal;
}

export interface ThinkOptions extends ThinkCallOptions {
  /** Where a failure is said to have happened. */
  readonly stage: string;
  readonly signal: AbortSignal;
  /** Tells calls of one span apart. */
  readonly label?: string;
  /** Where the text goes: to the user (`answer`, when absent), or it is `thought`. */
  readonly channel?: "answer" | "thought";
  /** The run the span belongs to. Nobody waits for its tokens to be durable, unless the log falls behind. */
  readonly run: Pick<Run, "post" | "isBehind" | "ready" | "now" | "work">;
}

export async function think(
  span: NodeRun,
  model: LanguageModel,
  request: ModelRequest,
  { stage, run, channel, label, fit, files, describeCall, ...options }: ThinkOptions,
): Promise<Thought> {
  const { name: id } = span;
  const place = { nodeId: span.nodeId };
  const write = (event: LoomEvent): Pushed => run.post(event, place);
  /** Asked again and again: those who are woken together must not flood the log together. */
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
  const call = new ModelCallSpan(write, () => run.now(), callName, `${model.provider}/${model.modelId}`);
  const ids = new Map<string, string>();
  const idOf = (callId: string): string => {
    let id = ids.get(callId);
    if (id === undefined) ids.set(callId, (id = makeUnique(shorten(callId), span.nodeId, run.work)));
    return id;
  };
  const spoken = channel === undefined ? undefined : { channel };
  const calls: ModelToolCall[] = [];
  let attempts = 0;
  const listener: ModelListener = {
    onStart: async () => {
      if (run.isBehind) await waitForRoom();
      await call.start(attempts++);
    },
    onText: (delta) => postPieces(delta, (content) => post({ type: "message_chunk", content, id, ...spoken })),
    onReasoning: (delta) => postPieces(delta, (content) => post({ type: "reasoning_chunk", content, id })),
    // Nobody waits for this one, and it must not be late.
    onReasoningEnd: () => void write({ type: "reasoning_end", id }),
    onToolInput: ({ callId, name, index }, delta) => {
      const call_id = idOf(callId);
      return postPieces(delta, (arguments_delta) =>
        post({ type: "tool_call_chunk", call_id, name: shorten(name), arguments_delta, index }),
      );
    },
    onToolCall: (made) => {
      const { index, input, rawInput } = made;
      const name = shorten(made.name);
      const callId = idOf(made.callId);
      calls.push({ ...made, name, callId });
      const description = describeCall?.(name);
      const about = description === undefined ? {} : { description };
      const raw = input === undefined ? { raw_arguments: rawInput } : {};
      return post({ type: "tool_call", call_id: callId, name, arguments: input ?? {}, ...about, index, ...raw });
    },
  };
  try {
    const fitted = fit === undefined ? request.messages : await fit(request, { span, signal: options.signal });
    // The offline model goes by the user's last message, and by nothing before it.
    const joined = model.provider === "offline" ? fitted : joinUserMessages(fitted);
    const ask = (messages: readonly ModelMessage[]): Promise<ModelResult> =>
      callModel(model, { ...request, messages }, listener, options);
    const resolved = files?.resolve(joined) ?? joined;
    // Node runs side by side begin in the same order whether files may come or not.
    const attached = resolved instanceof Promise ? await resolved : resolved;
    const result = await ask(attached).catch(async (error: unknown) => {
      if (files === undefined || !isRefusal(error) || !attached.some(hasFile)) throw error;
      // Else a file that the model cannot take would be sent again, and refused, with every turn to come.
      files.leaveOut();
      return ask(await files.resolve(joined));
    });
    if (run.isBehind) await waitForRoom();
    call.end(result);
    const content = result.content.map((part) =>
      part.type === "tool-call"
        ? { ...part, toolName: shorten(part.toolName), toolCallId: idOf(part.toolCallId) }
        : part,
    );
    return { result, content, calls };
  } catch (error) {
    call.fail(error);
    throw asStaged(error, stage);
  }
}

const REFUSALS: ReadonlySet<unknown> = new Set([400, 404, 413, 415, 422]);

/** The provider does not take what it was sent, whenever it is sent. */
function isRefusal(error: unknown): boolean {
  return isLoomError(error, "model_failed") && REFUSALS.has(error.details["status"]);
}

function hasFile({ role, content }: ModelMessage): boolean {
  return role === "user" && content.some(({ type }) => type === "file");
}

/** Writes the beginning and the end of a model call, once each for every try. */
class ModelCallSpan {
  readonly #post: (event: LoomEvent) => Pushed;
  readonly #now: () => number;
  readonly #name: string;
  readonly #model: string;
  #open: { readonly id: string; readonly since: number } | undefined;

  constructor(post: (event: LoomEvent) => Pushed, now: () => number, name: string, model: string) {
    this.#post = post;
    this.#now = now;
    this.#name = name;
    this.#model = model;
  }

  /** Resolves when it is durable. */
  async start(attempt: number): Promise<void> {
    if (this.#open !== undefined) this.#end("error", "tried again");
    const id = `${this.#name}.${attempt}`;
    this.#open = { id, since: this.#now() };
    await this.#post({ type: "llm_start", llm_call_id: id, model: this.#model, attempt }).durable;
  }

  end({ usage, finishReason }: ModelResult): void {
    const { promptTokens, completionTokens, totalTokens } = usage;
    if (promptTokens !== undefined || completionTokens !== undefined || totalTokens !== undefined) {
      const prompt_tokens = promptTokens ?? 0;
      const completion_tokens = completionTokens ?? 0;
      this.#post({
        type: "usage",
        prompt_tokens,
        completion_tokens,
        total_tokens: totalTokens ?? prompt_tokens + completion_tokens,
        ...(this.#open === undefined ? {} : { llm_call_id: this.#open.id }),
      });
    }
    this.#end(finishReason);
  }

  fail(error: unknown): void {
    try {
      this.#end("error", describeError(error), isLoomError(error) ? error.code : undefined);
    } catch {
      // A run that is over has closed it already; what has gone wrong is more than this.
    }
  }

  #end(finish_reason: string, error?: string, error_code?: string): void {
    if (this.#open === undefined) return;
    const { id, since } = this.#open;
    this.#open = undefined;
    this.#post({
      type: "llm_end",
      llm_call_id: id,
      model: this.#model,
      finish_reason,
      duration_ms: Math.max(0, Math.round(this.#now() - since)),
      ...(error === undefined ? {} : { error }),
      ...(error_code === undefined ? {} : { error_code }),
    });
  }
}

/** Characters of one event: a model that says everything at once must not say more than a record can hold. */
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

/** Models of some servers make up names and ids as long as they like. */
const MAX_NAME_LENGTH = 256;

function shorten(name: string): string {
  return name.length <= MAX_NAME_LENGTH ? name : name.slice(0, MAX_NAME_LENGTH).toWellFormed();
}

/**
 * A model that is asked anew, since its process died, may call what it has called before, and many call the first of each
 * answer the same. The number of the node run is no other's; only a second call of the same one has to be looked for.
 */
function makeUnique(callId: string, nodeId: string, work: Run["work"]): string {
  if (!work.knows(callId)) return callId;
  const own = `${callId}_${/\d+$/.exec(nodeId)?.[0] ?? ""}`;
  let id = own;
  for (let n = 2; work.knows(id); n++) id = `${own}_${n}`;
  return id;
}

export function asStaged(error: unknown, stage: string): unknown {
  if (!isLoomError(error)) return error;
  return new LoomError(error.code, error.message, { ...error.details, stage }, { cause: error });
}
