/**
 * The contract of a retriever, which finds passages for a query. The knowledge base implements it; a search service can
 * too. It does not know agents or runs.
 */

/** Finds passages for a query. */
export interface Retriever {
  /** Name used in messages. Default: `retriever`. */
  readonly name?: string;
  /**
   * Passages with a lower score are probably irrelevant. Automatic retrieval omits them; the search tool returns them.
   */
  readonly minScore?: number;
  /**
   * Returns the best passages first, or an empty array. If it throws, the error is reported and the run continues
   * without passages.
   */
  retrieve(query: string, options: RetrieveOptions): Promise<readonly Passage[]>;
}

/** Options of one search. */
export interface RetrieveOptions {
  /** Maximum number of passages. */
  readonly limit: number;
  /** Aborted when the run no longer waits for the result. */
  readonly signal: AbortSignal;
}

/** Part of a document that may answer a query. */
export interface Passage {
  /** Title of the document. */
  readonly title: string;
  /** Text for the model. */
  readonly content: string;
  /** Address of the document: a path or URL. */
  readonly uri?: string;
  /** Short excerpt around the match, for display. Default: the start of `content`. */
  readonly snippet?: string;
  /** Relevance; higher is better. */
  readonly score?: number;
  /** First and last line in the document, starting at 1. */
  readonly firstLine?: number;
  readonly lastLine?: number;
}
