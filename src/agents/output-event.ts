/** Structured output in `events`: partial values while the model writes them, and the validated value at the end. */
import { isKnownEvent, type Json, type StampedRecord } from "../protocol/index.ts";
import { PartialJson } from "../protocol/partial-json.ts";
import type { OutputFormat } from "./output-format.ts";
import { isAnswerChannel } from "../protocol/record.ts";

/** A value of which parts may be missing, because the model is still writing it. */
export type PartialOutput<Value> = Value extends (infer Item)[]
  ? PartialOutput<Item>[]
  : Value extends object
    ? { readonly [K in keyof Value]?: PartialOutput<Value[K]> }
    : Value;

/** Structured output in `events`. These events are not in the log. */
export type OutputEvent<Output> =
  /** What the model has written so far. It is not validated. When the model is asked again, it starts over. */
  | { readonly type: "partial_output"; readonly output: PartialOutput<Output> }
  /** The validated output, before the `run_end` of a completed run. */
  | { readonly type: "output"; readonly output: Output };

/** Reads the text of the answer in the records of a run. Its cost is linear in the length of the text. */
export class OutputProjection {
  readonly #format: OutputFormat;
  #parser = new PartialJson();
  #nodeId: string | undefined;
  #hasBegun = false;
  #shown: Json | undefined;

  constructor(format: OutputFormat) {
    this.#format = format;
  }

  project({ envelope, event }: StampedRecord): readonly OutputEvent<unknown>[] {
    if (!isKnownEvent(event)) return [];
    if (event.type === "run_end" && event.status === "completed")
      return [{ type: "output", output: this.#format.value }];
    if (event.type === "llm_start") this.#restart();
    if (event.type !== "message_chunk" || !isAnswerChannel(event.channel)) return [];
    if (envelope.node_id !== this.#nodeId) this.#restart();
    this.#nodeId = envelope.node_id;
    const { content } = event;
    // Models write code fences or a sentence before the value.
    const from = this.#hasBegun ? 0 : content.search(/[[{]/);
    if (from < 0) return [];
    this.#hasBegun = true;
    this.#parser.push(content.slice(from));
    const { value } = this.#parser;
    if (value === undefined || value === this.#shown) return [];
    this.#shown = value;
    return [{ type: "partial_output", output: value as PartialOutput<unknown> }];
  }

  #restart(): void {
    this.#parser = new PartialJson();
    this.#hasBegun = false;
    this.#shown = undefined;
  }
}
