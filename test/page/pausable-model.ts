/** The offline model, paused where a test needs it. */
import type { LanguageModel } from "../../src/models/index.ts";
import { OfflineModel } from "../../src/models/offline-model.ts";
import type { StreamPart } from "../../src/models/stream-part.ts";

type StreamRequest = Parameters<OfflineModel["doStream"]>[0];

export class PausableModel implements LanguageModel {
  readonly specificationVersion = "v4";
  readonly #inner: OfflineModel;
  readonly provider: OfflineModel["provider"];
  readonly modelId: OfflineModel["modelId"];
  #pause: { readonly type: string; left: number } | undefined;
  #blocked: (() => void)[] = [];

  constructor(options?: ConstructorParameters<typeof OfflineModel>[0]) {
    this.#inner = new OfflineModel(options);
    ({ provider: this.provider, modelId: this.modelId } = this.#inner);
  }

  /** Resumes until the `count`th part of this type, counted from here. All later parts, of any call, wait. */
  pauseAt(type: "stream-start" | "reasoning-delta" | "text-delta" | "tool-input-delta", count: number): void {
    this.#pause = { type, left: count };
    this.#release();
  }

  resume(): void {
    this.#pause = undefined;
    this.#release();
  }

  #release(): void {
    for (const go of this.#blocked.splice(0)) go();
  }

  async doStream(request: StreamRequest): Promise<{ readonly stream: ReadableStream<StreamPart> }> {
    const { stream } = await this.#inner.doStream(request);
    const gate = new TransformStream<StreamPart, StreamPart>({
      transform: async (part, controller) => {
        await this.#pass(part, request.abortSignal);
        controller.enqueue(part);
      },
    });
    return { stream: stream.pipeThrough(gate) };
  }

  async #pass({ type }: StreamPart, signal: AbortSignal | undefined): Promise<void> {
    if (this.#pause?.type === type) this.#pause.left--;
    while (this.#isHeld(signal)) await this.#wait(signal);
  }

  #isHeld(signal: AbortSignal | undefined): boolean {
    return this.#pause !== undefined && this.#pause.left <= 0 && signal?.aborted !== true;
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#blocked.push(resolve);
    signal?.addEventListener("abort", () => resolve(), { once: true });
    await promise;
  }
}
