/**
 * Extracts the text of PDFs page by page, one PDF at a time, in a separate thread. The thread is terminated when a PDF
 * exceeds its time or memory limit or the caller aborts; the next PDF gets a new thread.
 *
 * Invariants: no PDF blocks the event loop, and reading ends within its limits. After `close`, no thread is started.
 */
import { Worker } from "node:worker_threads";
import { fromPlainError, LoomError, type PlainError } from "../../protocol/loom-error.ts";
import type { KnowledgeBaseLimits } from "./knowledge-base-options.ts";
import { limitTimer } from "../../protocol/limit-timer.ts";

export interface PdfText {
  readonly title: string | undefined;
  readonly pages: readonly string[];
}

/** Messages to and from the thread. */
export interface PdfRequest {
  readonly bytes: Uint8Array;
  readonly maxPages: number;
  readonly maxCharacters: number;
  readonly maxExpandedBytes: number;
}
export type PdfResponse = { readonly text: PdfText } | { readonly error: PlainError };

// In a source checkout the TypeScript file runs, in the package the compiled one.
const THREAD = new URL(`./read-pdf-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
/** Interval at which the memory of the thread is checked. */
const MEMORY_CHECK_MS = 100;
const MEBIBYTE = 1024 * 1024;

export class PdfReader {
  readonly #limits: KnowledgeBaseLimits;
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(limits: KnowledgeBaseLimits) {
    this.#limits = limits;
  }

  /** Throws `missing_package`, `unreadable_document`, `document_too_large` or `store_closed`. */
  read(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<PdfText> {
    const mine = this.#last.then(() => {
      signal?.throwIfAborted();
      if (this.#isClosed) throw closed();
      return this.#read(bytes, signal);
    });
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#stop();
  }

  async #stop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  async #read(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<PdfText> {
    const { maxPdfPages: maxPages, maxPdfCharacters: maxCharacters, maxPdfMemoryBytes, maxPdfMs } = this.#limits;
    const { maxPdfExpandedBytes: maxExpandedBytes } = this.#limits;
    const worker = (this.#worker ??= this.#start());
    const { promise, resolve, reject } = Promise.withResolvers<PdfText>();
    const refuseMemory = (): void =>
      reject(
        new LoomError(
          "document_too_large",
          `Reading the PDF needs more than ${Math.ceil(maxPdfMemoryBytes / MEBIBYTE)} MiB of memory`,
          {
            limit: maxPdfMemoryBytes,
          },
        ),
      );
    let isFree = false;
    const onMessage = (answer: PdfResponse): void => {
      // After a limit was exceeded the thread may still be busy.
      isFree = "text" in answer || answer.error.code !== "document_too_large";
      if ("text" in answer) resolve(answer.text);
      else reject(fromPlainError(answer.error));
    };
    const onError = (error: unknown): void => {
      if ((error as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY") refuseMemory();
      else reject(new LoomError("unreadable_document", "The PDF cannot be read: the PDF reader crashed"));
    };
    const onExit = (): void => reject(closed());
    const onAbort = (): void => reject(signal?.reason);
    const onTime = (): void =>
      reject(
        new LoomError("unreadable_document", `Reading the PDF took longer than ${maxPdfMs} ms`, { limit: maxPdfMs }),
      );
    // The limits of a worker cover only its heap, not the external memory that PDF data is unpacked to.
    const checkMemory = (): void => {
      void worker.getHeapStatistics().then(
        ({ used_heap_size, external_memory }) => {
          if (used_heap_size + external_memory > maxPdfMemoryBytes) refuseMemory();
        },
        () => undefined,
      );
    };
    const memoryTimer = setInterval(checkMemory, MEMORY_CHECK_MS);
    const timer = setTimeout(onTime, limitTimer(maxPdfMs));
    worker.on("message", onMessage).on("error", onError).on("exit", onExit);
    signal?.addEventListener("abort", onAbort, { once: true });
    worker.ref();
    try {
      // Transfer a copy, so that the caller keeps its bytes.
      const copy = new Uint8Array(bytes);
      const request: PdfRequest = { bytes: copy, maxPages, maxCharacters, maxExpandedBytes };
      worker.postMessage(request, [copy.buffer]);
      return await promise;
    } finally {
      clearInterval(memoryTimer);
      clearTimeout(timer);
      worker.off("message", onMessage).off("error", onError).off("exit", onExit);
      signal?.removeEventListener("abort", onAbort);
      // An idle thread must not keep the process alive.
      if (isFree) worker.unref();
      else await this.#stop();
    }
  }

  #start(): Worker {
    const worker = new Worker(THREAD, {
      resourceLimits: { maxOldGenerationSizeMb: Math.max(64, Math.ceil(this.#limits.maxPdfMemoryBytes / MEBIBYTE)) },
    });
    // The pending read reports the error. Without a listener it would end the process.
    worker.on("error", () => undefined);
    worker.on("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }
}

function closed(): LoomError {
  return new LoomError("store_closed", "The knowledge base is closed");
}
