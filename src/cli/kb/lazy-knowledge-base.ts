/** A knowledge base that is opened on first use, so that runs without a search and server starts do not pay for it. */
import type { DocumentInfo, KnowledgeBase, Passage, RetrieveOptions, SearchHit } from "../../context/index.ts";
import type {
  AddedDocument,
  ByteDocument,
  DocumentText,
  KnowledgeBaseStats,
  ReadDocumentOptions,
  SearchOptions,
} from "../../context/knowledge-base/knowledge-base.ts";
import { MIN_SCORE } from "../../context/knowledge-base/rank-passages.ts";
import type { ServedKnowledge } from "../../server/api/server-core.ts";
import type { CollectionSearcher } from "../../tools/knowledge-tool.ts";
import { type KnowledgeChoice, openForReading, type SharedStore } from "./default-knowledge-base.ts";

export class LazyKnowledgeBase implements CollectionSearcher, ServedKnowledge, AsyncDisposable {
  readonly name = "knowledge base";
  readonly minScore = MIN_SCORE;
  readonly #choice: KnowledgeChoice;
  readonly #onFailure: (error: unknown) => void;
  readonly #store: SharedStore | undefined;
  #base: Promise<KnowledgeBase> | undefined;
  #isFailureReported = false;

  /**
   * `onFailure` is called once if the knowledge base cannot be opened. The request fails, and the next one tries again.
   */
  constructor(choice: KnowledgeChoice, onFailure: (error: unknown) => void, store?: SharedStore) {
    this.#choice = choice;
    this.#store = store;
    this.#onFailure = onFailure;
  }

  async retrieve(query: string, options: RetrieveOptions): Promise<readonly Passage[]> {
    return (await this.#open()).retrieve(query, options);
  }

  async search(query: string, options: SearchOptions = {}): Promise<readonly SearchHit[]> {
    return (await this.#open()).search(query, options);
  }

  async list(options?: Parameters<KnowledgeBase["list"]>[0]): Promise<readonly DocumentInfo[]> {
    return (await this.#open()).list(options);
  }

  async read(uri: string, options?: ReadDocumentOptions): Promise<DocumentText | undefined> {
    return (await this.#open()).read(uri, options);
  }

  async stats(): Promise<KnowledgeBaseStats> {
    return (await this.#open()).stats();
  }

  async addBytes(document: ByteDocument): Promise<AddedDocument> {
    return (await this.#open()).addBytes(document);
  }

  async removeDocument(uri: string): Promise<boolean> {
    return (await this.#open()).removeDocument(uri);
  }

  #open(): Promise<KnowledgeBase> {
    this.#base ??= this.#openBase();
    return this.#base;
  }

  async #openBase(): Promise<KnowledgeBase> {
    try {
      return await openForReading(this.#choice, { store: this.#store });
    } catch (error) {
      this.#base = undefined;
      if (!this.#isFailureReported) this.#onFailure(error);
      this.#isFailureReported = true;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const base = await this.#base?.catch(() => undefined);
    await base?.close();
  }
}
