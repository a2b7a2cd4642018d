/**
 * The knowledge base of the command line, opened when it is first asked: a run that searches nothing pays nothing, and a
 * server begins without it. It knows no file but by its choice.
 */
import {
  type AddedDocument,
  type ByteDocument,
  type DocumentInfo,
  KnowledgeBase,
  type KnowledgeBaseStats,
  type Passage,
  type RetrieveOptions,
  type SearchHit,
  type SearchOptions,
} from "../../context/index.ts";
import type { ServedKnowledge } from "../../server/index.ts";
import type { CollectionSearcher } from "../../tools/index.ts";
import { type KnowledgeChoice, openChosen } from "./default-knowledge-base.ts";

export class LazyKnowledgeBase implements CollectionSearcher, ServedKnowledge, AsyncDisposable {
  readonly name = "knowledge base";
  readonly minScore = KnowledgeBase.minScore;
  readonly #choice: KnowledgeChoice;
  readonly #onFailure: (error: unknown) => void;
  #base: Promise<KnowledgeBase> | undefined;
  #isTold = false;

  /** `onFailure` is told once of a base that cannot be opened. Whoever asks it fails, and the next one tries again. */
  constructor(choice: KnowledgeChoice, onFailure: (error: unknown) => void) {
    this.#choice = choice;
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
    this.#base ??= this.#openAnew();
    return this.#base;
  }

  async #openAnew(): Promise<KnowledgeBase> {
    try {
      return await openChosen(this.#choice);
    } catch (error) {
      this.#base = undefined;
      if (!this.#isTold) this.#onFailure(error);
      this.#isTold = true;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const base = await this.#base?.catch(() => undefined);
    await base?.close();
  }
}
