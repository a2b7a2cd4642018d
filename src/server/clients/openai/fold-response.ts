/** Folds the events of a response into the response, as far as it has come. */
import { isLastResponseEvent } from "../../../dialects/openai-responses/encode.ts";
import type { Json, JsonObject } from "../../../protocol/index.ts";
import { parseObject, toJsonObject } from "../../../protocol/json.ts";
import type { OpenaiResponse } from "../../api/shapes.generated.ts";

/** The dialect writes the type first. */
const READ = /^\{"type":"response\.(?:created|completed|incomplete|failed|output_item\.done)"/;

export class ResponseFold {
  #response: JsonObject | undefined;
  #isOver = false;
  /** Items that have ended, by position. */
  readonly #output = new Map<Json | undefined, Json>();

  add(text: string): void {
    if (!READ.test(text)) return;
    const { response, output_index, item } = parseObject(text) ?? {};
    if (response === undefined) this.#output.set(output_index, item ?? {});
    else this.#response = toJsonObject(response);
    this.#isOver = isLastResponseEvent(text);
  }

  /** Undefined if the run has not started. */
  finish(): OpenaiResponse | undefined {
    if (this.#response === undefined) return undefined;
    const output = this.#isOver ? {} : { output: [...this.#output.values()] };
    return { ...this.#response, ...output } as unknown as OpenaiResponse;
  }
}
