/**
 * Formats messages, arguments and results as span attributes according to the OpenTelemetry conventions. Used only if
 * content capture is enabled. Secrets are redacted, and every attribute is cut to a limit.
 */
import type { Attributes } from "@opentelemetry/api";
import type { EventOf, Json } from "../../protocol/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import type { Redactor } from "../logs/create-redactor.ts";
import { formatMessage, GEN_AI } from "./gen-ai.ts";

/** The output of one attempt to call a model. */
export interface RecordedOutput {
  readonly parts: OutputPart[];
  characters: number;
}

interface OutputPart {
  readonly type: "text" | "reasoning" | "tool_call";
  text: string;
  readonly call?: { readonly id: string | undefined; readonly name: string };
}

/** Maximum calls whose arguments are kept until they start. */
const MAX_CALLS = 1000;
/** Maximum parts of one output. */
const MAX_PARTS = 100;
const MAX_DOCUMENTS = 20;

export class ContentWriter {
  readonly #redactor: Redactor;
  readonly #max: number;
  readonly #arguments = new BoundedMap<string>(MAX_CALLS);

  constructor(redactor: Redactor, maxCharacters: number) {
    this.#redactor = redactor;
    this.#max = maxCharacters;
  }

  cleanText(text: string): string {
    return this.#redactor.cleanText(text, this.#max);
  }

  formatText(role: "user" | "assistant", text: string): string {
    return formatMessage(role, [{ type: "text", content: this.cleanText(text) }]);
  }

  takePiece(event: EventOf<"message_chunk" | "reasoning_chunk" | "tool_call_chunk">, output: RecordedOutput): void {
    // The complete arguments arrive with `tool_call`.
    if (event.type === "tool_call_chunk" || output.characters >= this.#max) return;
    // The model did not write the blank line.
    if (event.type === "message_chunk" && event.channel === "break") return;
    const type = event.type === "message_chunk" ? "text" : "reasoning";
    output.characters += event.content.length;
    const last = output.parts.at(-1);
    if (last?.type === type) last.text += event.content;
    else if (output.parts.length < MAX_PARTS) output.parts.push({ type, text: event.content });
  }

  takeCall(key: string, event: EventOf<"tool_call">, output: RecordedOutput | undefined): void {
    this.#keepArguments(key, event.arguments);
    if (output === undefined || output.parts.length >= MAX_PARTS) return;
    const text = this.getArguments(key) ?? "";
    if (output.characters + text.length > this.#max) return;
    output.characters += text.length;
    output.parts.push({ type: "tool_call", text, call: { id: event.call_id, name: event.name } });
  }

  /** The user may have changed the arguments. */
  takeAnswer(key: string, event: EventOf<"tool_approval_result">): void {
    if (event.arguments !== undefined) this.#keepArguments(key, event.arguments);
  }

  getArguments(key: string): string | undefined {
    return this.#arguments.get(key);
  }

  forgetCall(key: string): void {
    this.#arguments.delete(key);
  }

  formatOutput(output: RecordedOutput, finishReason: string | undefined): string {
    const parts = output.parts.map(({ type, text, call }): Json => {
      if (type !== "tool_call") return { type, content: this.cleanText(text) };
      return { type, ...(call?.id === undefined ? {} : { id: call.id }), name: call?.name ?? "", arguments: text };
    });
    return formatMessage("assistant", parts, finishReason);
  }

  describeRetrieval({ query, sources = [] }: EventOf<"retrieval_complete">): Attributes {
    const documents = sources.slice(0, MAX_DOCUMENTS).map(({ uri, title, score }) => ({
      id: this.cleanText(uri ?? title),
      ...(score === undefined ? {} : { score }),
    }));
    return {
      ...(query === undefined ? {} : { [GEN_AI.query]: this.cleanText(query) }),
      ...(documents.length === 0 ? {} : { [GEN_AI.documents]: JSON.stringify(documents) }),
    };
  }

  #keepArguments(key: string, value: unknown): void {
    this.#arguments.set(key, JSON.stringify(this.#redactor.cleanValue(value, this.#max)));
  }
}
