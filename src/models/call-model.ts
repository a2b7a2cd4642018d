/**
 * Calls a model once: asks, reads its stream, tells the listener, and tries again while nothing was told. It knows no
 * provider, no agent and no event.
 *
 * Invariants:
 * - It resolves to a whole answer, or rejects with a LoomError, or with what the listener threw; nothing is told after.
 * - When it settles, the provider's connection is done with or closed, and no timer or listener of it is left.
 * - Per delta it costs a read of the stream and a call of the listener, and nothing that grows.
 */
import { LoomError } from "../protocol/index.ts";
import { Answer, AnswerFault } from "./answer.ts";
import { completeOptions, type CallSettings } from "./call-settings.ts";
import { createCallOptions } from "./call-options.ts";
import { CallWatch, createCancelled, limitTimer } from "./call-watch.ts";
import type { LanguageModel, ModelCallOptions, ModelListener, ModelRequest, ModelResult } from "./model.ts";
import { judgeFault, type ModelFault } from "./model-fault.ts";
import type { StreamPart } from "./stream-part.ts";

export async function callModel(
  model: LanguageModel,
  request: ModelRequest,
  listener: ModelListener,
  options: ModelCallOptions = {},
): Promise<ModelResult> {
  checkVersion(model);
  const { signal } = options;
  const settings = completeOptions(options);
  for (let attempt = 0; ; attempt++) {
    assertGoing(signal);
    const held = listener.onStart?.({ attempt });
    if (held !== undefined) {
      await held;
      assertGoing(signal);
    }
    const answer = new Answer(model, request, listener, settings);
    try {
      return await readAnswer(model, request, answer, new CallWatch(model, settings, signal));
    } catch (error) {
      if (!(error instanceof AnswerFault)) throw error;
      const pause = answer.hasTold ? undefined : choosePause(error.fault, attempt, settings);
      if (pause === undefined) throw withAttempts(error.fault.error, attempt);
      await sleep(pause, signal);
    }
  }
}

function assertGoing(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw createCancelled(signal.reason);
}

/** One try. What is wrong with the provider is thrown as an `AnswerFault`, everything else as it is. */
async function readAnswer(
  model: LanguageModel,
  request: ModelRequest,
  answer: Answer,
  watch: CallWatch,
): Promise<ModelResult> {
  let isDone = false;
  let reader: ReadableStreamDefaultReader<StreamPart> | undefined;
  const cancel = (): void => void discard(reader);
  try {
    reader = await openStream(model, request, watch);
    // A cancelled stream ends at once, also that of a provider which does not look at its signal.
    watch.watchParts(cancel);
    for (;;) {
      let read: ReadableStreamReadResult<StreamPart>;
      try {
        read = await reader.read();
      } catch (error) {
        // An answer that is whole stays whole, whatever becomes of its connection.
        if (answer.isFinished) break;
        throw new AnswerFault(judgeFault(error, "stream", model));
      }
      if (read.done) break;
      watch.touch();
      const held = answer.take(read.value);
      if (held !== undefined) await watch.hold(held);
      if (answer.isFinished) watch.rest(cancel);
    }
    if (watch.stopped !== undefined) throw watch.stopped;
    isDone = true;
    for (const held of answer.endCalls()) if (held !== undefined) await watch.hold(held);
    return answer.describe();
  } catch (error) {
    cancel();
    throw watch.stopped ?? answer.judge(error);
  } finally {
    watch.close({ isDone });
  }
}

async function openStream(
  model: LanguageModel,
  request: ModelRequest,
  watch: CallWatch,
): Promise<ReadableStreamDefaultReader<StreamPart>> {
  // A model may throw instead of rejecting.
  const ask = async (): Promise<{ readonly stream?: ReadableStream } | undefined> =>
    model.doStream(createCallOptions(request, watch.signal, model.specificationVersion));
  try {
    const { stream } = (await watch.waitFor(ask(), (late) => void discard(late?.stream))) ?? {};
    if (typeof stream?.getReader !== "function") throw new TypeError("it gave no stream");
    return stream.getReader();
  } catch (error) {
    throw new AnswerFault(judgeFault(error, "request", model));
  }
}

/** Whatever it is that somebody gave for a stream: nobody waits for this, so it must not fail. */
async function discard(stream: { cancel(): Promise<void> } | undefined): Promise<void> {
  try {
    await stream?.cancel();
  } catch {
    // It is gone already, or was none.
  }
}

/** How long to wait before the next try; undefined where there is none. */
function choosePause(fault: ModelFault, attempt: number, settings: CallSettings): number | undefined {
  const { maxRetries, retryMs, maxRetryMs } = settings;
  const asked = fault.retryAfterMs ?? 0;
  if (!fault.mayRetry || attempt >= maxRetries || asked > maxRetryMs) return undefined;
  // Callers that were refused together must not come back together; none comes earlier than it was asked to.
  const own = Math.min(retryMs * 2 ** attempt, maxRetryMs) * (0.5 + Math.random() / 2);
  return asked > 0 ? asked + Math.min(own, asked / 10) : own;
}

function withAttempts(error: LoomError, attempt: number): LoomError {
  if (attempt === 0) return error;
  const details = { ...error.details, attempts: attempt + 1 };
  return new LoomError(error.code, error.message, details, { cause: error.cause });
}

async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(createCancelled(signal?.reason));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, limitTimer(ms));
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** Version 1 streams other parts; what comes after 4 may do so, too, but is given a chance. */
function checkVersion(model: LanguageModel | null | undefined): void {
  if (typeof model?.doStream === "function" && model.specificationVersion !== "v1") return;
  throw new LoomError("unknown_model", "The model is not one of the AI SDK, version 2 or later.");
}
