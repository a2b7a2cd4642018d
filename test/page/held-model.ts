/** The offline model, halted where a test wants to look: what is live is looked at for as long as that takes. */
import type { LanguageModel } from "../../src/models/index.ts";
import { OfflineModel } from "../../src/models/offline-model.ts";
import type { StreamPart } from "../../src/models/stream-part.ts";

type Asked = Parameters<OfflineModel["doStream"]>[0];

export class HeldModel implements LanguageModel {
  readonly specificationVersion = "v4";
  readonly provider = "offline";
  readonly modelId = "offline";
  readonly #inner = new OfflineModel();
  #place: { readonly type: string; left: number } | undefined;
  #waiting: (() => void)[] = [];

  /** Goes on, up to this part: the manieth of its type from here. All that comes later waits, of whatever call. */
  goUntil(type: "stream-start" | "reasoning-delta" | "text-delta" | "tool-input-delta", many: number): void {
    this.#place = { type, left: many };
    this.#release();
  }

  goOn(): void {
    this.#place = undefined;
    this.#release();
  }

  #release(): void {
    for (const go of this.#waiting.splice(0)) go();
  }

  async doStream(request: Asked): Promise<{ readonly stream: ReadableStream<StreamPart> }> {
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
    if (this.#place?.type === type) this.#place.left--;
    while (this.#isHeld(signal)) await this.#wait(signal);
  }

  #isHeld(signal: AbortSignal | undefined): boolean {
    return this.#place !== undefined && this.#place.left <= 0 && signal?.aborted !== true;
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    signal?.addEventListener("abort", () => resolve(), { once: true });
    await promise;
  }
}
