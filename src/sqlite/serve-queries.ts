/** The thread of a `QueryThread`. It may be terminated at any time, so it must not write. */
import { parentPort } from "node:worker_threads";
import { toPlainError } from "../protocol/loom-error.ts";
import { asStoreError } from "./as-store-error.ts";
import type { QueryAnswer } from "./query-thread.ts";

interface ServeQueriesOptions<Query> {
  readonly path: string;
  readonly answer: (query: Query) => unknown;
  readonly close: () => void;
}

/** Answers queries until it receives `close`. Call it in the thread. */
export function serveQueries<Query>({ path, answer, close }: ServeQueriesOptions<Query>): void {
  parentPort?.on("message", (query: Query | "close") => {
    if (query === "close") {
      close();
      parentPort?.close();
      return;
    }
    parentPort?.postMessage(answerOne(query));
  });
  parentPort?.postMessage("ready" satisfies QueryAnswer);

  function answerOne(query: Query): QueryAnswer {
    try {
      return { value: answer(query) };
    } catch (error) {
      return { error: toPlainError(asStoreError(error, path)) };
    }
  }
}
