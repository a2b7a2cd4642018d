/**
 * The contract of a retriever: what finds passages for a question. The knowledge base is one; a search service can be
 * another. It knows no agent and no run.
 */
export interface Retriever {
  /** For messages about it; `retriever` when absent. */
  readonly name?: string;
  /** Below this score a passage has hardly to do with the question. Automatic context leaves it out; a tool shows it. */
  readonly minScore?: number;
  /** The best passages first; none is an answer too. What it throws is told, and the run goes on without. */
  retrieve(query: string, options: RetrieveOptions): Promise<readonly Passage[]>;
}

export interface RetrieveOptions {
  /** At most so many passages. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

export interface Passage {
  /** Of the document it is from. */
  readonly title: string;
  /** The text the model is given. */
  readonly content: string;
  /** Where the document is: a path, an address. */
  readonly uri?: string;
  /** The lines around what matched, for people; the beginning of the content when absent. */
  readonly snippet?: string;
  /** How well it matched: more is better. */
  readonly score?: number;
  /** In lines of the document, from 1. */
  readonly firstLine?: number;
  readonly lastLine?: number;
}
