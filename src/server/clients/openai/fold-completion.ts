/** Folds the chunks of a Chat Completions message into the message, for clients that do not stream. */
import type { Json, JsonObject } from "../../../protocol/index.ts";
import { parseObject, toJsonObject } from "../../../protocol/json.ts";
import type { OpenaiChatAnswer } from "../../api/shapes.generated.ts";
import { readError, refuseFailure } from "./run-failure.ts";

export class CompletionFold {
  #head: JsonObject = {};
  #content = "";
  #reasoning = "";
  /** The text of the last attempt, if a crash repeated a part of the message. */
  #reply: string | undefined;
  readonly #calls: JsonObject[] = [];
  #finishReason: Json = null;
  #usage: JsonObject | undefined;
  #error: JsonObject | undefined;
  /** The last event `error`. */
  #noted: JsonObject = {};

  add(text: string): void {
    const chunk = parseObject(text) ?? {};
    this.#noted = readError(chunk) ?? this.#noted;
    if (chunk["error"] != null) this.#error = toJsonObject(chunk["error"]);
    this.#head = chunk;
    const { type, reply } = toJsonObject(chunk["loom"]);
    if (type === "reply" && typeof reply === "string") this.#reply = reply;
    if (chunk["usage"] != null) this.#usage = toJsonObject(chunk["usage"]);
    const [choice] = Array.isArray(chunk["choices"]) ? (chunk["choices"] as readonly Json[]) : [];
    const { delta, finish_reason } = toJsonObject(choice);
    const { content, reasoning_content, tool_calls } = toJsonObject(delta);
    if (typeof content === "string") this.#content += content;
    if (typeof reasoning_content === "string") this.#reasoning += reasoning_content;
    for (const call of Array.isArray(tool_calls) ? (tool_calls as readonly Json[]) : []) {
      const { index: _index, ...fields } = toJsonObject(call);
      this.#calls.push(fields);
    }
    if (finish_reason != null) this.#finishReason = finish_reason;
  }

  /** Throws the error of a run that failed or was cancelled. It has the headers. */
  finish(headers: { readonly [name: string]: string }): OpenaiChatAnswer {
    if (this.#error !== undefined) throw refuseFailure(this.#error, this.#noted, headers);
    const { id, created, model } = this.#head as unknown as OpenaiChatAnswer;
    const text = this.#reply ?? this.#content;
    const message = {
      role: "assistant",
      content: text === "" && this.#calls.length > 0 ? null : text,
      refusal: null,
      ...(this.#reasoning === "" ? {} : { reasoning_content: this.#reasoning }),
      ...(this.#calls.length === 0 ? {} : { tool_calls: this.#calls }),
    };
    return {
      id,
      object: "chat.completion",
      created,
      model,
      choices: [{ index: 0, message, logprobs: null, finish_reason: this.#finishReason }],
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
    };
  }
}
