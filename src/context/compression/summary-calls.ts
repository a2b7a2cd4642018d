/**
 * Emits the events of the model calls that write a summary: `llm_start` before the call, `usage`, and `llm_end`. Each
 * part of a summary and each attempt is one call.
 *
 * Invariant: every `llm_start` is followed by an `llm_end`.
 */
import type { LanguageModel, ModelResult } from "../../models/model.ts";
import { isLoomError } from "../../protocol/index.ts";
import type { FitEvent } from "./compressor.ts";

export interface SummaryCallsOptions {
  readonly model: LanguageModel;
  /** For `llm_start` the returned promise is awaited. */
  readonly emit: (event: FitEvent) => void | Promise<void>;
  readonly createCallId: () => string;
}

const PURPOSE = { purpose: "summary" } as const;

export class SummaryCalls {
  readonly #emit: SummaryCallsOptions["emit"];
  readonly #createCallId: () => string;
  readonly #model: string;
  #open: { readonly id: string; readonly since: number } | undefined;

  constructor({ model, emit, createCallId }: SummaryCallsOptions) {
    this.#emit = emit;
    this.#createCallId = createCallId;
    this.#model = `${model.provider}/${model.modelId}`;
  }

  /** Resolves to the ID of the call when the model may be called. */
  async start(attempt: number): Promise<string> {
    this.#end({ finish_reason: "error", error: "retried" });
    const id = this.#createCallId();
    this.#open = { id, since: performance.now() };
    await this.#emit({ type: "llm_start", llm_call_id: id, model: this.#model, attempt, ...PURPOSE });
    return id;
  }

  end({ usage, finishReason }: ModelResult): void {
    const { promptTokens, completionTokens, totalTokens, cachedTokens = 0 } = usage;
    if (promptTokens !== undefined || completionTokens !== undefined || totalTokens !== undefined) {
      const prompt_tokens = promptTokens ?? 0;
      const completion_tokens = completionTokens ?? 0;
      void this.#emit({
        type: "usage",
        prompt_tokens,
        completion_tokens,
        total_tokens: totalTokens ?? prompt_tokens + completion_tokens,
        ...(this.#open === undefined ? {} : { llm_call_id: this.#open.id }),
        ...(cachedTokens === 0 ? {} : { cached_tokens: cachedTokens }),
      });
    }
    this.#end({ finish_reason: finishReason });
  }

  fail(error: unknown): void {
    const isOurs = isLoomError(error);
    this.#end({
      finish_reason: "error",
      error: isOurs ? error.message : "The summary could not be written",
      ...(isOurs ? { error_code: error.code } : {}),
    });
  }

  #end(how: { readonly finish_reason: string; readonly error?: string; readonly error_code?: string }): void {
    if (this.#open === undefined) return;
    const { id, since } = this.#open;
    this.#open = undefined;
    const duration_ms = Math.max(0, Math.round(performance.now() - since));
    void this.#emit({ type: "llm_end", llm_call_id: id, model: this.#model, ...how, duration_ms, ...PURPOSE });
  }
}
