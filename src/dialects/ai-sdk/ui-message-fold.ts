/**
 * Builds a message from its chunks by the rules of the AI SDK (`readUIMessageStream`), without that package: the result
 * is what `useChat` has after the same stream. It reads the chunks of our encoder, which are valid; a chunk of an
 * unknown type or about an unknown part has no effect.
 */
import type { Json, JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { readText } from "../frame-traits.ts";
import { PartialJson } from "../../protocol/partial-json.ts";

/** A message as clients of the AI SDK keep it. */
export interface FoldedMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly metadata?: Json;
  readonly parts: readonly JsonObject[];
}

type FoldedPart = { [name: string]: Json };

export class UiMessageFold {
  #id = "";
  #metadata: Json | undefined;
  #parts: FoldedPart[] = [];
  /** Open text and reasoning parts by kind and ID. */
  readonly #open = new Map<string, FoldedPart>();
  /** Arguments of calls so far. */
  readonly #inputs = new Map<string, string>();

  add(chunk: JsonObject): void {
    const { type, id, toolCallId } = chunk;
    if (typeof type !== "string") return;
    if (typeof toolCallId === "string") this.#addToCall(type, toolCallId, chunk);
    else if (type.startsWith("data-")) this.#addData(type, chunk);
    else if (/^(text|reasoning)-(start|delta|end)$/.test(type)) this.#addText(type, readText(id) ?? "", chunk);
    else this.#addOther(type, chunk);
  }

  #addText(type: string, id: string, { delta }: JsonObject): void {
    const [kind = "", what] = type.split("-");
    const key = `${kind}:${id}`;
    const part = this.#open.get(key);
    if (what === "start") {
      const started: FoldedPart = { type: kind, ...(kind === "reasoning" ? { id } : {}), text: "", state: "streaming" };
      this.#open.set(key, started);
      this.#parts.push(started);
    } else if (part === undefined) return;
    else if (what === "delta") part["text"] = (readText(part["text"]) ?? "") + (readText(delta) ?? "");
    else {
      part["state"] = "done";
      this.#open.delete(key);
    }
  }

  #addToCall(type: string, callId: string, chunk: JsonObject): void {
    switch (type) {
      case "tool-input-start":
        this.#inputs.set(callId, "");
        this.#setCall(callId, chunk, { state: "input-streaming" });
        break;
      case "tool-input-delta": {
        const rawInput = (this.#inputs.get(callId) ?? "") + (readText(chunk["inputTextDelta"]) ?? "");
        this.#inputs.set(callId, rawInput);
        this.#setCall(callId, chunk, { state: "input-streaming", rawInput });
        break;
      }
      case "tool-input-available":
        this.#setCall(callId, chunk, { state: "input-available", input: chunk["input"] ?? null });
        break;
      case "tool-output-available":
        this.#setResult(callId, pick(chunk, ["output", "preliminary"], { state: "output-available" }));
        break;
      case "tool-output-error":
        this.#setResult(callId, pick(chunk, ["errorText"], { state: "output-error" }));
        break;
      case "tool-output-denied":
        this.#change(this.#findCall(callId), { state: "output-denied" });
        break;
      case "tool-approval-request":
        this.#change(this.#findCall(callId), {
          state: "approval-requested",
          approval: { id: chunk["approvalId"] ?? callId },
        });
        break;
      default:
    }
  }

  /** Changes the call in the current step, or adds it. */
  #setCall(callId: string, chunk: JsonObject, state: FoldedPart): void {
    const step = this.#parts.slice(this.#parts.findLastIndex(({ type }) => type === "step-start") + 1);
    let part = step.find(({ toolCallId }) => toolCallId === callId);
    if (part === undefined) {
      part = { type: `tool-${readText(chunk["toolName"]) ?? ""}`, toolCallId: callId };
      this.#parts.push(part);
    }
    for (const name of ["input", "output", "errorText", "rawInput", "preliminary"]) delete part[name];
    this.#change(part, pick(chunk, ["title"], state));
  }

  #setResult(callId: string, state: FoldedPart): void {
    const part = this.#findCall(callId);
    const raw = part?.["rawInput"];
    if (part !== undefined) readPartialInput(part);
    for (const name of ["output", "errorText", "rawInput", "preliminary"]) delete part?.[name];
    this.#change(part, state);
    // The AI SDK keeps the text of arguments only with an error.
    if (part !== undefined && raw !== undefined && state["state"] === "output-error") part["rawInput"] = raw;
  }

  #findCall(callId: string): FoldedPart | undefined {
    return this.#parts.findLast(({ toolCallId }) => toolCallId === callId);
  }

  #change(part: FoldedPart | undefined, fields: FoldedPart): void {
    if (part !== undefined) Object.assign(part, fields);
  }

  #addData(type: string, chunk: JsonObject): void {
    const { id, data = null, transient } = chunk;
    if (transient === true) return;
    const known = id === undefined ? undefined : this.#parts.find((part) => part["type"] === type && part["id"] === id);
    if (known === undefined) this.#parts.push({ ...chunk });
    else known["data"] = data;
  }

  #addOther(type: string, chunk: JsonObject): void {
    switch (type) {
      case "start":
        if (typeof chunk["messageId"] === "string") this.#id = chunk["messageId"];
        break;
      case "message-metadata":
        this.#addMetadata(chunk["messageMetadata"]);
        break;
      case "start-step":
        this.#parts.push({ type: "step-start" });
        break;
      case "reset-step":
        this.#parts = this.#parts.slice(0, this.#parts.findLastIndex((part) => part["type"] === "step-start") + 1);
        this.#open.clear();
        this.#inputs.clear();
        break;
      case "tool-approval-response": {
        const part = this.#parts.find(
          ({ approval }) => isJsonObject(approval) && approval["id"] === chunk["approvalId"],
        );
        const approval = { ...(part?.["approval"] as JsonObject | undefined), ...pick(chunk, ["approved", "reason"]) };
        this.#change(part, { state: "approval-responded", approval });
        break;
      }
      case "file":
      case "reasoning-file":
        this.#parts.push(pick(chunk, ["type", "mediaType", "url", "providerMetadata"]));
        break;
      case "source-url":
        this.#parts.push(pick(chunk, ["type", "sourceId", "url", "title"]));
        break;
      case "custom":
        this.#parts.push(pick(chunk, ["type", "kind", "providerMetadata"]));
        break;
      default:
    }
  }

  #addMetadata(metadata: Json | undefined): void {
    if (metadata === undefined || metadata === null) return;
    this.#metadata = merge(this.#metadata, metadata);
  }

  /** Returns the message, with the arguments of calls that never became complete. Call it once, after the last chunk. */
  finish(): FoldedMessage {
    for (const part of this.#parts) readPartialInput(part);
    const metadata = this.#metadata === undefined ? {} : { metadata: this.#metadata };
    return { id: this.#id, ...metadata, role: "assistant", parts: this.#parts };
  }
}

/** Parses the arguments of a call that are not complete. */
function readPartialInput(part: FoldedPart): void {
  if (part["state"] !== "input-streaming" || typeof part["rawInput"] !== "string") return;
  const input = new PartialJson();
  input.push(part["rawInput"]);
  if (input.value !== undefined) part["input"] = input.value;
}

function pick(chunk: JsonObject, names: readonly string[], more: FoldedPart = {}): FoldedPart {
  const picked = { ...more };
  for (const name of names) if (chunk[name] !== undefined) picked[name] = chunk[name];
  return picked;
}

/** Merges objects at every level, as the AI SDK does with metadata. */
function merge(base: Json | undefined, over: Json): Json {
  if (!isJsonObject(base) || !isJsonObject(over)) return over;
  const merged = Object.entries(over).map(([name, value]) => [name, merge(base[name], value)] as const);
  return Object.fromEntries([...Object.entries(base), ...merged]);
}
