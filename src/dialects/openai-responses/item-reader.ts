/** Reads the output items of one response as events, and checks what the `openai` client checks about them. */
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { isJsonObject, type Json, type JsonObject, toJsonObject, toJsonObjects } from "../../protocol/json.ts";
import type { AnyEvent } from "../../protocol/record.ts";
import { CallStarts } from "../client-decoder.ts";
import { dropMissing, dropUndefined } from "../../protocol/drop-undefined.ts";
import { readText } from "../frame-traits.ts";
import { ReplyText } from "../reply-text.ts";
import { DEFAULT_NODE_NAME, readArguments } from "../tool-values.ts";
import { describeOutput, listTexts, readCallName, readHostedCall, toText } from "./output-items.ts";

/** Dialect of events that are kept unchanged. */
export const OPENAI_RESPONSES = "openai-responses";
const MAX_ITEMS = 10_000;

interface ReadOutputItem {
  readonly id: string | undefined;
  readonly type: string;
  readonly callId: string;
  readonly name: string;
  /** True if it has fields of this package. */
  readonly isOwn: boolean;
  /** True once its call was read. */
  isCalled: boolean;
  isDone: boolean;
}

export interface ItemFault {
  readonly rule: "unknown" | "repeated";
  readonly message: string;
}

export class ItemReader {
  /** Items by position. */
  readonly #items = new BoundedMap<ReadOutputItem>(MAX_ITEMS);
  readonly #ids = new BoundedMap<true>(MAX_ITEMS);
  /** Positions of items of which a piece of text was read. */
  readonly #streamed = new BoundedMap<true>(MAX_ITEMS);
  /** IDs of messages with text. */
  readonly #messages = new BoundedMap<true>(MAX_ITEMS);
  /** Calls that have no result yet. An approval may come before the item of its call. */
  readonly #calls: BoundedMap<true>;
  /** Calls with an approval request. A later response repeats the request if there is no answer. */
  readonly #asked: BoundedMap<true>;
  readonly #starts: CallStarts;
  readonly #reply = new ReplyText({ held: 0 });

  /** `before` has read the responses before this one of the same run. */
  constructor(before?: ItemReader) {
    this.#calls = before === undefined ? new BoundedMap<true>(MAX_ITEMS) : before.#calls;
    this.#asked = before === undefined ? new BoundedMap<true>(MAX_ITEMS) : before.#asked;
    this.#starts = before === undefined ? new CallStarts() : before.#starts;
  }

  /** Finds what the client does not accept about an event of an item. Call it before `read`. */
  findFault(type: string, frame: JsonObject): ItemFault | undefined {
    const { output_index: place, item_id: id } = frame;
    if (place === undefined) return undefined;
    const known = this.#items.get(toText(place));
    if (type === "response.output_item.added") {
      const { id: added } = toJsonObject(frame["item"]);
      if (known !== undefined)
        return {
          rule: "repeated",
          message: `there is an item at position ${toText(place)}; add each at the next position`,
        };
      if (typeof added === "string" && this.#ids.has(added))
        return { rule: "repeated", message: `there is an item with the ID ${added}; give each its own` };
      return undefined;
    }
    if (known === undefined)
      return {
        rule: "unknown",
        message: `there is no item at position ${toText(place)}; send \`response.output_item.added\` first`,
      };
    const named = type === "response.output_item.done" ? toJsonObject(frame["item"])["id"] : id;
    if (named === undefined || known.id === undefined || named === known.id) return undefined;
    return {
      rule: "unknown",
      message: `the item at position ${toText(place)} is ${known.id}, not ${toText(named)}; use the ID that it was added with`,
    };
  }

  /** Returns the events of an event of an item; undefined for one that has no equivalent. */
  read(type: string, frame: JsonObject): readonly AnyEvent[] | undefined {
    const place = toText(frame["output_index"] ?? frame["item_id"] ?? toJsonObject(frame["item"])["id"]);
    const known = this.#items.get(place);
    const delta = toText(frame["delta"]);
    switch (type) {
      case "response.output_item.added":
        this.#add(place, toJsonObject(frame["item"]));
        return [];
      case "response.output_text.delta":
      case "response.refusal.delta":
        return this.#say(place, delta);
      case "response.reasoning_text.delta":
      case "response.reasoning_summary_text.delta":
        this.#streamed.set(place, true);
        return [{ type: "reasoning_chunk", content: delta }];
      case "response.reasoning_summary_part.added":
        return this.#streamed.has(place) ? [{ type: "reasoning_chunk", content: "\n\n" }] : [];
      case "response.function_call_arguments.delta":
      case "response.mcp_call_arguments.delta":
        if (known === undefined) return undefined;
        // Of a run of this package, the arguments arrive at once.
        if (this.#calls.has(known.callId) || (known.isOwn && known.type === "function_call")) return [];
        return [{ type: "tool_call_chunk", call_id: known.callId, name: known.name, arguments_delta: delta }];
      case "response.function_call_arguments.done":
      case "response.mcp_call_arguments.done": {
        if (known === undefined) return undefined;
        return this.#call(known, toText(frame["arguments"]), toJsonObject(frame["loom"])["description"]);
      }
      case "response.output_item.done":
        return this.#end(place, toJsonObject(frame["item"]), frame);
      default:
        return undefined;
    }
  }

  /** Returns an event of a call, after the start of the call if there was none. */
  start(event: AnyEvent): readonly AnyEvent[] {
    return this.#starts.add(event);
  }

  /** IDs of items that did not end and are not in the final output. */
  listUnended(output: Json | undefined): readonly string[] {
    if (!Array.isArray(output)) return [];
    const ids = new Set(toJsonObjects(output).map(({ id }) => id));
    return [...this.#items.values()].flatMap(({ id, isDone }) =>
      isDone || id === undefined || ids.has(id) ? [] : [id],
    );
  }

  /** Reads messages and calls that are only in the final output, as compatible servers send them. */
  readUnsent(output: Json | undefined): readonly AnyEvent[] {
    if (this.#items.size > 0 || this.#streamed.size > 0) return [];
    return toJsonObjects(output).flatMap((item, output_index) =>
      this.#end(`output-${output_index}`, item, { type: "response.output_item.done", output_index, item }),
    );
  }

  /** The text of the response. Items that the final output lacks do not count: their attempt was repeated. */
  readReply(output: Json | undefined): { readonly text: string; readonly overflowed: boolean } {
    const { overflowed } = this.#reply;
    if (!Array.isArray(output)) return { text: this.#reply.toString(), overflowed };
    const items = toJsonObjects(output).filter(({ type }) => type === "message");
    const ids = new Set(items.map(({ id }) => id));
    const isWhole = [...this.#messages.keys()].every((id) => ids.has(id));
    if (isWhole && !overflowed) return { text: this.#reply.toString(), overflowed };
    return { text: items.flatMap(({ content }) => listTexts(content)).join(""), overflowed: false };
  }

  #add(place: string, item: JsonObject): ReadOutputItem {
    const id = readText(item["id"]);
    const known: ReadOutputItem = {
      id,
      type: toText(item["type"]),
      callId: readText(toJsonObject(item["loom"])["call_id"]) ?? readText(item["call_id"]) ?? id ?? `call-${place}`,
      name: readCallName(item),
      isOwn: isJsonObject(item["loom"]),
      isCalled: false,
      isDone: false,
    };
    this.#items.set(place, known);
    if (id !== undefined) this.#ids.set(id, true);
    return known;
  }

  #say(place: string, content: string): readonly AnyEvent[] {
    this.#streamed.set(place, true);
    const known = this.#items.get(place);
    if (known !== undefined) this.#messages.set(known.id ?? "", true);
    this.#reply.add(content);
    return [{ type: "message_chunk", content, id: DEFAULT_NODE_NAME }];
  }

  #call(known: ReadOutputItem, text: string, description: Json | undefined): readonly AnyEvent[] {
    const { callId: call_id, name } = known;
    const wasCalled = known.isCalled || this.#calls.has(call_id);
    known.isCalled = true;
    if (wasCalled) return [];
    this.#calls.set(call_id, true);
    const about = dropMissing({ description: readText(description) });
    return [{ type: "tool_call", call_id, name, ...readArguments(text), ...about }];
  }

  #end(place: string, item: JsonObject, frame: JsonObject): readonly AnyEvent[] {
    const known = this.#items.get(place) ?? this.#add(place, item);
    if (known.isDone) return [];
    known.isDone = true;
    const type = toText(item["type"]);
    switch (type) {
      case "message":
        return this.#streamed.has(place) ? [] : listTexts(item["content"]).flatMap((text) => this.#say(place, text));
      case "reasoning": {
        const texts = this.#streamed.has(place) ? [] : listTexts(item["summary"]);
        // Only the provider can read it. Without it, the answer is complete all the same.
        const kept = typeof item["encrypted_content"] === "string" ? [keep(frame)] : [];
        return [...texts.map((content) => ({ type: "reasoning_chunk", content })), { type: "reasoning_end" }, ...kept];
      }
      case "function_call":
        return [...this.#call(known, toText(item["arguments"]), undefined), ...this.#startForClient(known, item)];
      case "custom_tool_call":
        return this.#call(known, JSON.stringify({ input: item["input"] ?? "" }), undefined);
      case "mcp_call":
        return [...this.#call(known, toText(item["arguments"]), undefined), ...this.#endCall(known, item)];
      case "mcp_approval_request": {
        const { callId: call_id, name } = known;
        const { expires_at, digest } = toJsonObject(item["loom"]);
        const { arguments: args } = readArguments(toText(item["arguments"]));
        const limits = dropMissing({
          expires_at: typeof expires_at === "number" ? expires_at : undefined,
          digest: readText(digest),
        });
        if (this.#asked.has(call_id)) return [];
        this.#asked.set(call_id, true);
        const request = { type: "tool_approval", call_id, name, arguments: args, ...limits };
        return [...this.#call(known, toText(item["arguments"]), undefined), request];
      }
      default:
        return type.endsWith("_call") ? this.#endHosted(known, item, frame) : [keep(frame)];
    }
  }

  /** The call of a run of this package waits for its client. Another server has ended its run. */
  #startForClient({ callId: call_id, name }: ReadOutputItem, { loom }: JsonObject): readonly AnyEvent[] {
    if (!isJsonObject(loom) || this.#starts.has(call_id)) return [];
    return this.#starts.add({ type: "tool_start", call_id, name, executor: "client" });
  }

  #endCall({ callId: call_id, name }: ReadOutputItem, item: JsonObject): readonly AnyEvent[] {
    const { status, error } = item;
    // It goes on in the next response.
    if (toJsonObject(item["loom"])["waiting"] === true) return [];
    this.#calls.delete(call_id);
    this.#asked.delete(call_id);
    const is_error = status === "failed" || (error !== null && error !== undefined);
    if (!is_error && status !== "completed" && typeof item["output"] !== "string") return [];
    const { output, error_code, duration_ms } = toJsonObject(item["loom"]);
    const { content, message } = toJsonObject(error);
    const failure = is_error ? (content ?? message ?? error) : undefined;
    const about = dropUndefined({
      output,
      error_code: typeof error_code === "string" ? error_code : undefined,
      duration_ms: typeof duration_ms === "number" && duration_ms >= 0 ? duration_ms : undefined,
    });
    const result = describeOutput(failure ?? item["output"]);
    return this.#starts.add({ type: "tool_end", call_id, name, result, is_error, ...about });
  }

  #endHosted(known: ReadOutputItem, item: JsonObject, frame: JsonObject): readonly AnyEvent[] {
    const { input, end } = readHostedCall(item);
    const { callId: call_id, name } = known;
    const call = this.#call(known, input, undefined);
    const kept = typeof item["result"] === "string" ? [keep(frame)] : [];
    if (end === undefined) return [...call, ...kept];
    this.#calls.delete(call_id);
    const { result, isError: is_error } = end;
    return [...call, ...kept, ...this.#starts.add({ type: "tool_end", call_id, name, result, is_error })];
  }
}

export function keep(frame: JsonObject): AnyEvent {
  return { type: "foreign", dialect: OPENAI_RESPONSES, frame };
}
