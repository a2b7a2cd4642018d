/**
 * Computes SHA-256 digests of open files in one thread, so that a large file does not delay requests, and limits how
 * many wait for it. The thread starts with the first file.
 */
import type { FileHandle } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { LoomError } from "../../protocol/index.ts";

export type DigestAnswer =
  | { readonly digest: string }
  | { readonly error: { readonly message: string; readonly code: string } };

/** Files that may wait. Each of them is open. */
const MAX_WAITING = 256;

// TypeScript in the repository, JavaScript in the published package.
const THREAD = new URL(`./digest-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export class FileDigests {
  #worker: Worker | undefined;
  /** Files sent to the thread, which answers in order. */
  #waiting: PromiseWithResolvers<string>[] = [];

  /**
   * Returns the digest in hexadecimal. Keep the file open until then. Throws `too_many_open`, and the error of the file
   * system.
   */
  compute({ fd }: FileHandle): Promise<string> {
    if (this.#waiting.length >= MAX_WAITING)
      return Promise.reject(
        new LoomError("too_many_open", "Too many blobs are being checked; try again later", { limit: MAX_WAITING }),
      );
    const waiter = Promise.withResolvers<string>();
    this.#waiting.push(waiter);
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#worker.postMessage(fd);
    return waiter.promise;
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
    this.#fail(new Error("The blob store is closed"));
  }

  #start(): Worker {
    const worker = new Worker(THREAD);
    worker.on("message", (answer: DigestAnswer) => {
      const waiter = this.#waiting.shift();
      if ("digest" in answer) waiter?.resolve(answer.digest);
      else waiter?.reject(Object.assign(new Error(answer.error.message), { code: answer.error.code }));
      if (this.#waiting.length === 0) worker.unref();
    });
    const onEnd = (error: unknown): void => {
      if (this.#worker !== worker) return;
      // The next file starts another thread.
      this.#worker = undefined;
      this.#fail(error instanceof Error ? error : new Error("The thread that checks blobs ended"));
    };
    worker.on("error", onEnd);
    worker.on("exit", onEnd);
    return worker;
  }

  #fail(error: Error): void {
    const failed = this.#waiting;
    this.#waiting = [];
    for (const { reject } of failed) reject(error);
  }
}
