/**
 * Calls a model: sends the request, reads the stream, notifies the listener, and retries as long as the listener has
 * received nothing. It does not depend on a provider, an agent or an event format.
 *
 * Invariants:
 * - The promise resolves with a complete answer, or rejects with a LoomError or the listener's own error. The listener
 *   receives nothing afterwards.
 * - When the promise settles, the provider's connection is finished or closed, and no timer or signal listener is left.
 * - A delta costs one read of the stream and one call of the listener.
 */
import { LoomError } from "../protocol/index.ts";
import { ModelAnswer, AnswerFault } from "./model-answer.ts";
import { resolveCallSettings, type CallSettings } from "./call-settings.ts";
import { createCallOptions } from "./call-options.ts";
import { AttemptMonitor, createCancelled } from "./attempt-monitor.ts";
import type { LanguageModel, ModelCallOptions, ModelListener, ModelRequest, ModelResult } from "./model.ts";
import { classifyFault, type ModelFault, recordRefusal } from "./model-fault.ts";
import { findRefusedReasoning, leaveOutRefused } from "./request-reasoning.ts";
import { pauseFor } from "./part-stream.ts";
import type { StreamPart } from "./stream-part.ts";
import { splitPart, ThinkTags } from "./think-tags.ts";
import { limitTimer } from "../protocol/limit-timer.ts";

/**
 * Calls a model and streams its answer to `listener`. Resolves with the complete answer.
 *
 * ```ts
 * const messages = [{ role: "user", content: [{ type: "text", text: "Hello" }] }] as const;
 * const { text } = await callModel(model, { messages }, listener, { maxRetries: 1 });
 * ```
 *
 * Rejects with `model_failed`, `model_unauthorized`, `model_not_found`, `model_rate_limited`, `model_unavailable`,
 * `model_timeout`, `model_stream_cut`, `model_output_too_large`, `missing_key` or `cancelled`.
 */
export async function callModel(
  model: LanguageModel,
  request: ModelRequest,
  listener: ModelListener,
  options: ModelCallOptions = {},
): Promise<ModelResult> {
  checkVersion(model);
  const { signal } = options;
  const settings = resolveCallSettings(options);
  let refusal: { readonly feature: string; readonly error: LoomError } | undefined;
  for (let attempt = 0; ; attempt++) {
    assertNotAborted(signal);
    // Chosen for this attempt: the provider may refuse a parallel call in the meantime.
    const sent = refusal === undefined ? leaveOutRefused(model, request) : { ...request, isReasoningRefused: true };
    const pending = listener.onStart?.({ attempt, request: sent });
    if (pending !== undefined) {
      await pending;
      assertNotAborted(signal);
    }
    const answer = new ModelAnswer(model, sent, listener, settings);
    try {
      const result = await runAttempt(model, sent, answer, new AttemptMonitor(model, settings, signal));
      if (refusal !== undefined) {
        // Only now: the request may have been refused for another reason.
        recordRefusal(model, refusal.feature, settings.refusalMs);
        listener.onRefusal?.(refusal);
      }
      return result;
    } catch (error) {
      if (!(error instanceof AnswerFault)) throw error;
      const { fault } = error;
      const feature = answer.hasNotified ? undefined : findRefusedReasoning(model, sent, fault);
      if (feature !== undefined) {
        refusal = { feature, error: fault.error };
        continue;
      }
      const pause = answer.hasNotified ? undefined : computeRetryDelay(fault, attempt, settings);
      if (pause === undefined) throw withAttempts(fault.error, attempt);
      await pauseFor(limitTimer(pause), signal);
    }
  }
}

function assertNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw createCancelled(signal.reason);
}

/** Runs one attempt. Provider errors are thrown as `AnswerFault`, all others unchanged. */
async function runAttempt(
  model: LanguageModel,
  request: ModelRequest,
  answer: ModelAnswer,
  monitor: AttemptMonitor,
): Promise<ModelResult> {
  let isDone = false;
  const tags = new ThinkTags();
  let reader: ReadableStreamDefaultReader<StreamPart> | undefined;
  const cancel = (): void => void discard(reader);
  try {
    reader = await openStream(model, request, monitor);
    // Cancelling the stream also stops providers that ignore their signal.
    monitor.watchParts(cancel);
    for (;;) {
      let read: ReadableStreamReadResult<StreamPart>;
      try {
        read = await reader.read();
      } catch (error) {
        // A complete answer stays valid even if the connection fails afterwards.
        if (answer.isFinished) break;
        throw new AnswerFault(classifyFault(error, "stream", model));
      }
      if (read.done) break;
      monitor.countPart();
      for (const part of tags.isPassing ? [read.value] : splitPart(tags, read.value)) {
        const pending = answer.take(part);
        if (pending !== undefined) await monitor.waitForListener(pending);
      }
      if (answer.isFinished) monitor.drain(cancel);
    }
    if (monitor.stopError !== undefined) throw monitor.stopError;
    isDone = true;
    for (const pending of answer.endCalls()) if (pending !== undefined) await monitor.waitForListener(pending);
    return answer.toResult();
  } catch (error) {
    cancel();
    throw monitor.stopError ?? answer.classify(error);
  } finally {
    monitor.close({ isDone });
  }
}

async function openStream(
  model: LanguageModel,
  request: ModelRequest,
  monitor: AttemptMonitor,
): Promise<ReadableStreamDefaultReader<StreamPart>> {
  // A model may throw instead of rejecting.
  const ask = async (): Promise<{ readonly stream?: ReadableStream } | undefined> =>
    model.doStream(createCallOptions(request, monitor.signal, model));
  try {
    const { stream } = (await monitor.waitFor(ask(), (late) => void discard(late?.stream))) ?? {};
    if (typeof stream?.getReader !== "function") throw new TypeError("doStream returned no stream");
    return stream.getReader();
  } catch (error) {
    throw new AnswerFault(classifyFault(error, "request", model));
  }
}

/** Cancels a stream. Never rejects: no code waits for it, and the value may not be a stream at all. */
async function discard(stream: { cancel(): Promise<void> } | undefined): Promise<void> {
  try {
    await stream?.cancel();
  } catch {
    // Already closed, or not a stream.
  }
}

/** Returns the delay before the next attempt in milliseconds, or undefined if there is none. */
function computeRetryDelay(fault: ModelFault, attempt: number, settings: CallSettings): number | undefined {
  const { maxRetries, retryMs, maxRetryMs } = settings;
  const asked = fault.retryAfterMs ?? 0;
  if (!fault.mayRetry || attempt >= maxRetries || asked > maxRetryMs) return undefined;
  // Jitter, so that clients rejected together do not retry together. A retry never comes before `retry-after`.
  const own = Math.min(retryMs * 2 ** attempt, maxRetryMs) * (0.5 + Math.random() / 2);
  return asked > 0 ? asked + Math.min(own, asked / 10) : own;
}

function withAttempts(error: LoomError, attempt: number): LoomError {
  if (attempt === 0) return error;
  const details = { ...error.details, attempts: attempt + 1 };
  return new LoomError(error.code, error.message, details, { cause: error.cause });
}

/** Version 1 streams different parts. Versions after 4 are accepted and may work. */
function checkVersion(model: LanguageModel | null | undefined): void {
  if (typeof model?.doStream === "function" && model.specificationVersion !== "v1") return;
  throw new LoomError(
    "unknown_model",
    "The model does not implement the AI SDK language model specification v2 or later",
  );
}
