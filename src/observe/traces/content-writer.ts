/**
 * What was said, asked and answered in a run, in the form the conventions give it: only made where somebody wants
 * contents in traces. Secrets are taken out, and every attribute is cut.
 */
import type { Attributes } from "@opentelemetry/api";
import { BoundedMap, type EventOf, type Json } from "../../protocol/index.ts";
import type { Redactor } from "../logs/create-redactor.ts";
import { formMessage, formTextPart, GEN_AI } from "./gen-ai.ts";
import type { ModelCall } from "./model-calls.ts";

/** Calls whose arguments are kept until they start. */
const MAX_CALLS = 1000;
/** Parts of one answer. */
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

  formText(text: string): string {
    return this.#redactor.cleanText(text, this.#max);
  }

  formUser(message: string): string {
    return formMessage("user", [formTextPart("text", this.formText(message))]);
  }

  formAnswer(reply: string): string {
    return formMessage("assistant", [formTextPart("text", this.formText(reply))]);
  }

  takePiece(event: EventOf<"message_chunk" | "reasoning_chunk" | "tool_call_chunk">, call: ModelCall): void {
    // The arguments come once more, whole.
    if (event.type === "tool_call_chunk" || call.characters >= this.#max) return;
    const type = event.type === "message_chunk" ? "text" : "reasoning";
    call.characters += event.content.length;
    const last = call.said.at(-1);
    if (last?.type === type) last.text += event.content;
    else if (call.said.length < MAX_PARTS) call.said.push({ type, text: event.content });
  }

  takeCall(key: string, event: EventOf<"tool_call">, call: ModelCall | undefined): void {
    this.#keepArguments(key, event.arguments);
    if (call === undefined || call.said.length >= MAX_PARTS) return;
    const text = this.formArguments(key) ?? "";
    if (call.characters + text.length > this.#max) return;
    call.characters += text.length;
    call.said.push({ type: "tool_call", text, call: { id: event.call_id, name: event.name } });
  }

  /** The user may have changed the arguments. */
  takeAnswer(key: string, event: EventOf<"tool_approval_result">): void {
    if (event.arguments !== undefined) this.#keepArguments(key, event.arguments);
  }

  formArguments(key: string): string | undefined {
    return this.#arguments.get(key);
  }

  forgetCall(key: string): void {
    this.#arguments.delete(key);
  }

  formSaid({ said }: ModelCall, finishReason: string | undefined): string {
    const parts = said.map(({ type, text, call }): Json => {
      if (type !== "tool_call") return formTextPart(type, this.formText(text));
      return { type, ...(call?.id === undefined ? {} : { id: call.id }), name: call?.name ?? "", arguments: text };
    });
    return formMessage("assistant", parts, finishReason);
  }

  formRetrieval({ query, sources = [] }: EventOf<"retrieval_complete">): Attributes {
    const documents = sources.slice(0, MAX_DOCUMENTS).map(({ uri, title, score }) => ({
      id: this.formText(uri ?? title),
      ...(score === undefined ? {} : { score }),
    }));
    return {
      ...(query === undefined ? {} : { [GEN_AI.query]: this.formText(query) }),
      ...(documents.length === 0 ? {} : { [GEN_AI.documents]: JSON.stringify(documents) }),
    };
  }

  #keepArguments(key: string, value: unknown): void {
    this.#arguments.set(key, JSON.stringify(this.#redactor.cleanValue(value, { maxCharacters: this.#max })));
  }
}
