/**
 * Asks the model for a value as JSON: with a format, if its provider has structured output, and once more with what is
 * wrong if the reply cannot be used.
 *
 * Invariant: a reply that is too large is one that cannot be used; all other failures of a call are thrown.
 */
import type { PartContext } from "../graph/graph.ts";
import type { ModelMessage, ModelRequest } from "../models/model.ts";
import { isLoomError, type Json, type JsonObject } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";
import type { AgentContext } from "./agent-kind.ts";
import { createWarning } from "./create-warning.ts";
import { think, type ThinkOptions, type ThinkResult } from "./think.ts";

export type AnswerFormat = NonNullable<ModelRequest["responseFormat"]>;

/** What kind of value is asked for. */
export interface ReplyForm {
  /** Undefined if the reply is not JSON, or if the model has no structured output. */
  readonly format?: AnswerFormat | undefined;
  /** Asks again after a reply with this fault. */
  readonly again: (fault: string) => string;
  /** Maximum characters of a reply that are shown to the model again. Default: 20,000. */
  readonly maxShown?: number;
  /** True if a reply that is too long is not asked for again, because no budget counts its tokens. */
  readonly isTooLongFinal?: boolean;
}

export interface JsonQuestion<Value extends Json> extends ReplyForm {
  readonly messages: readonly ModelMessage[];
  /** Returns the value, or as a text for the model why the reply has none. */
  readonly read: (reply: ThinkResult) => Value | string;
}

/** The value, or the fault of the second reply. */
export type JsonReply<Value extends Json> = { readonly tokens: number } & (
  | { readonly value: Value }
  | { readonly fault: string }
);

/** Makes each call a separate part, so that a finished call is not repeated. */
export interface ReplyParts<Value extends Json> {
  readonly around: PartContext;
  /** Returns the name of the part of the first or second call, which the call gets too. */
  readonly nameOf: (call: 1 | 2) => string;
  /** Describes the fault of the second reply in a warning, which is recorded with the reply. */
  readonly describeFault: (fault: string) => string;
  /** Called with the value in the part that records it. */
  readonly onValue?: ((value: Value, part: PartContext) => void) | undefined;
}

export interface AskForJsonOptions<Value extends Json> extends Omit<ThinkOptions, "label" | "responseFormat"> {
  /** Default: both calls belong to the part around them. */
  readonly parts?: ReplyParts<Value>;
}

/** A reply as it is remembered, with its end to show it to the model again. */
type RememberedReply<Value extends Json> = { readonly tokens: number } & (
  | { readonly value: Value }
  | { readonly fault: string; readonly said: string }
);

const MAX_SHOWN = 20_000;

/** The fault of a reply that is too long. */
export const TOO_LONG = "it is too long";

export async function askForJson<Value extends Json>(
  context: AgentContext,
  { messages, read, format, again, maxShown = MAX_SHOWN, isTooLongFinal = false }: JsonQuestion<Value>,
  { parts, ...options }: AskForJsonOptions<Value>,
): Promise<JsonReply<Value>> {
  const { stage } = context;
  const request = { ...options, ...(format === undefined ? {} : { responseFormat: format }) };
  const ask = (call: 1 | 2, asked: readonly ModelMessage[]): Promise<RememberedReply<Value>> => {
    if (parts === undefined)
      return askOnce(context, asked, read, call === 1 ? request : { ...request, label: "again" });
    const { around, nameOf, describeFault, onValue } = parts;
    const label = nameOf(call);
    return around.once(label, async (part) => {
      const reply = await askOnce(context, asked, read, { ...request, label }, (value) => {
        if (typeof value !== "string") onValue?.(value, part);
        else if (call === 2) part.emitWithResult(createWarning(describeFault(value), stage));
      });
      return reply;
    });
  };
  const first = recallReply(await ask(1, messages));
  if ("value" in first) return first;
  const { fault, said, tokens } = first;
  if (isTooLongFinal && fault === TOO_LONG) return { fault, tokens };
  const second = recallReply(await ask(2, askAgain(messages, said.slice(-maxShown).toWellFormed(), again(fault))));
  const both = tokens + second.tokens;
  return "value" in second ? { value: second.value, tokens: both } : { fault: second.fault, tokens: both };
}

/**
 * Returns a remembered reply. In runs that an earlier version left unfinished it has another form: a boolean alone, or
 * the value under the name of what was asked for, with null for a verdict that could not be read, and often no tokens.
 */
export function recallReply<Reply extends { readonly tokens: number }>(remembered: Reply): Reply {
  const known: unknown = remembered;
  if (!isJsonObject(known)) return { value: known, tokens: 0 } as unknown as Reply;
  const value = known["plan"] ?? known["scores"] ?? known["verdict"];
  return { ...(value == null ? known : { value }), tokens: known["tokens"] ?? 0 } as unknown as Reply;
}

/** `onRead` is called with the value or the fault at once, because what parallel parts may accept can depend on it. */
async function askOnce<Value extends Json>(
  context: AgentContext,
  messages: readonly ModelMessage[],
  read: JsonQuestion<Value>["read"],
  options: ThinkOptions,
  onRead?: (value: Value | string) => void,
): Promise<RememberedReply<Value>> {
  let reply: ThinkResult;
  try {
    reply = await think(context, messages, options);
  } catch (error) {
    if (!isLoomError(error, "model_output_too_large")) throw error;
    onRead?.(TOO_LONG);
    return { fault: TOO_LONG, said: "(too long)", tokens: 0 };
  }
  const { usage, text } = reply.result;
  const { totalTokens, promptTokens = 0, completionTokens = 0 } = usage;
  const spent = totalTokens ?? promptTokens + completionTokens;
  const tokens = Number.isFinite(spent) ? Math.max(0, spent) : 0;
  const value = read(reply);
  onRead?.(value);
  if (typeof value !== "string") return { value, tokens };
  return { fault: value, said: text.slice(-MAX_SHOWN).toWellFormed(), tokens };
}

function askAgain(first: readonly ModelMessage[], said: string, text: string): readonly ModelMessage[] {
  return [
    ...first,
    { role: "assistant", content: [{ type: "text", text: said.trim() === "" ? "(nothing)" : said }] },
    { role: "user", content: [{ type: "text", text }] },
  ];
}

/** An object whose fields are all required, as strict providers demand. */
export function createFormat(name: string, properties: { readonly [field: string]: JsonObject }): AnswerFormat {
  return { name, schema: describeObject(properties) };
}

/** Like `createFormat`, with a first field for the reasoning that leads to the values. */
export function createReasonedFormat(name: string, properties: { readonly [field: string]: JsonObject }): AnswerFormat {
  return createFormat(name, { why: { type: "string", description: "Brief reasoning" }, ...properties });
}

export function describeObject(properties: { readonly [field: string]: JsonObject }): JsonObject {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}
