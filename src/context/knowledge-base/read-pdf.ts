/**
 * The text of PDFs, page by page. They are read one after the other in a thread of their own, which is ended when a PDF
 * takes too long or too much, and when nobody waits for it any more. The next one gets a new thread.
 *
 * Invariant: whatever the PDF, the event loop goes on, and the reading ends within its limits.
 */
import { Worker } from "node:worker_threads";
import { fromPlainError, type PlainError } from "../../log/sqlite/failure.ts";
import { limitTimer } from "../../models/call-watch.ts";
import { LoomError } from "../../protocol/index.ts";
import type { KnowledgeBaseLimits } from "./knowledge-base-options.ts";

export interface PdfText {
  readonly title: string | undefined;
  readonly pages: readonly string[];
}

/** What the thread is asked and what it says. */
export interface PdfRequest {
  readonly bytes: Uint8Array;
  readonly maxPages: number;
  readonly maxCharacters: number;
}
export type PdfAnswer = { readonly text: PdfText } | { readonly error: PlainError };

// In a checkout the source itself runs, in the package what was built from it.
const THREAD = new URL(`./read-pdf-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
/** How often the thread's memory is looked at. */
const LOOK_MS = 100;
const MEBIBYTE = 1024 * 1024;

export class PdfReader {
  readonly #limits: KnowledgeBaseLimits;
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(limits: KnowledgeBaseLimits) {
    this.#limits = limits;
  }

  /** Throws `missing_package`, or `unreadable_document` or `document_too_large` and why. */
  read(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<PdfText> {
    const mine = this.#last.then(() => {
      signal?.throwIfAborted();
      return this.#read(bytes, signal);
    });
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  async #read(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<PdfText> {
    const { maxPdfPages, maxPdfCharacters, maxPdfMemoryBytes, maxPdfMs } = this.#limits;
    const worker = (this.#worker ??= this.#start());
    const { promise, resolve, reject } = Promise.withResolvers<PdfText>();
    const refuseMemory = (): void =>
      reject(
        new LoomError("document_too_large", `The PDF takes more than ${Math.ceil(maxPdfMemoryBytes / MEBIBYTE)} MiB.`, {
          limit: maxPdfMemoryBytes,
        }),
      );
    let isFree = false;
    const onMessage = (answer: PdfAnswer): void => {
      // It may still be busy with what was refused in the middle.
      isFree = "text" in answer || answer.error.code !== "document_too_large";
      if ("text" in answer) resolve(answer.text);
      else reject(fromPlainError(answer.error));
    };
    const onError = (error: unknown): void => {
      if ((error as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY") refuseMemory();
      else reject(new LoomError("unreadable_document", "The PDF cannot be read: it breaks the program that reads it."));
    };
    const onExit = (): void => reject(new LoomError("store_closed", "the knowledge base was closed"));
    const onAbort = (): void => reject(signal?.reason);
    const onTime = (): void =>
      reject(
        new LoomError("unreadable_document", `The PDF takes longer than ${maxPdfMs} ms to read.`, { limit: maxPdfMs }),
      );
    // The limits of a thread are for its objects; what a PDF unpacks to lies beside them.
    const look = (): void => {
      void worker.getHeapStatistics().then(
        ({ used_heap_size, external_memory }) => {
          if (used_heap_size + external_memory > maxPdfMemoryBytes) refuseMemory();
        },
        () => undefined,
      );
    };
    const looking = setInterval(look, LOOK_MS);
    const timer = setTimeout(onTime, limitTimer(maxPdfMs));
    worker.on("message", onMessage).on("error", onError).on("exit", onExit);
    signal?.addEventListener("abort", onAbort, { once: true });
    worker.ref();
    try {
      // A copy: the thread is given it, and the caller may go on with its own.
      const copy = new Uint8Array(bytes);
      const request: PdfRequest = { bytes: copy, maxPages: maxPdfPages, maxCharacters: maxPdfCharacters };
      worker.postMessage(request, [copy.buffer]);
      return await promise;
    } finally {
      clearInterval(looking);
      clearTimeout(timer);
      worker.off("message", onMessage).off("error", onError).off("exit", onExit);
      signal?.removeEventListener("abort", onAbort);
      // A thread that waits for work keeps no process alive.
      if (isFree) worker.unref();
      else await this.close();
    }
  }

  #start(): Worker {
    const worker = new Worker(THREAD, {
      resourceLimits: { maxOldGenerationSizeMb: Math.max(64, Math.ceil(this.#limits.maxPdfMemoryBytes / MEBIBYTE)) },
    });
    // Whoever waits for an answer is told; without a listener an error would end the process.
    worker.on("error", () => undefined);
    worker.on("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }
}
