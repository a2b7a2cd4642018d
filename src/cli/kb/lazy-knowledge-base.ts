/** A knowledge base that is opened on first use, so that runs without a search and server starts do not pay for it. */
import type { KnowledgeBase } from "../../context/index.ts";
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
  readonly retrieve: KnowledgeBase["retrieve"] = async (...args) => (await this.#open()).retrieve(...args);
  readonly search: KnowledgeBase["search"] = async (...args) => (await this.#open()).search(...args);
  readonly list: KnowledgeBase["list"] = async (...args) => (await this.#open()).list(...args);
  readonly read: KnowledgeBase["read"] = async (...args) => (await this.#open()).read(...args);
  readonly stats: KnowledgeBase["stats"] = async (...args) => (await this.#open()).stats(...args);
  readonly addBytes: KnowledgeBase["addBytes"] = async (...args) => (await this.#open()).addBytes(...args);
  readonly removeDocument: KnowledgeBase["removeDocument"] = async (...args) =>
    (await this.#open()).removeDocument(...args);
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
