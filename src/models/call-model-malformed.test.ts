import { afterEach, describe, expect, it, vi } from "vitest";
import { LoomError } from "../protocol/index.ts";
import { callModel } from "./call-model.ts";
import type { LanguageModel } from "./model.ts";
import { FINISH, modelOf, request, streamOf } from "../../test/contracts/play-parts.ts";
import { recordListener } from "../../test/contracts/record-listener.ts";

afterEach(() => {
  vi.useRealTimers();
});

describe("callModel with an invalid model", () => {
  const circle: Record<string, unknown> = {};
  circle["circle"] = circle;
  const hostile = Object.defineProperty({}, "message", {
    enumerable: true,
    get: () => {
      throw new TypeError("do not look");
    },
  });
  const locked = streamOf([FINISH]);
  locked.getReader();
  const unreadable = Object.assign(new Error("no"), {
    responseHeaders: { "retry-after": Object.create(null) as object },
  });
  const call = { type: "tool-call", toolCallId: "c", toolName: "f" };

  it.each<[string, () => unknown]>([
    ["nothing", () => undefined],
    ["no stream", () => ({})],
    ["a stream that is not one", () => ({ stream: { getReader: 7 } })],
    ["a stream with foreign parts", () => ({ stream: locked })],
    ["an error that cannot be read", () => ({ stream: streamOf([{ type: "error", error: hostile }]) })],
    ["headers that cannot be read", () => Promise.reject(unreadable)],
    ["cyclic arguments", () => ({ stream: streamOf([{ ...call, input: circle }, FINISH]) })],
    ["arguments that are not JSON", () => ({ stream: streamOf([{ ...call, input: () => 1 }, FINISH]) })],
    ["an id that is not a string", () => ({ stream: streamOf([{ ...call, toolCallId: 7, input: "{}" }, FINISH]) })],
    ["fields that throw", () => ({ stream: streamOf([{ type: "text-start", providerMetadata: { p: hostile } }]) })],
  ])("rejects with a LoomError: %s", async (_what, give) => {
    const model: LanguageModel = { ...modelOf([]), doStream: async () => give() as { stream: ReadableStream } };
    const error: unknown = await callModel(model, request, recordListener().listener, { maxRetries: 0 }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(LoomError);
    expect(error).toMatchObject({ code: expect.stringMatching(/^model_(failed|stream_cut)$/) as string });
    expect((error as LoomError).message).not.toMatch(/\n|Cannot read|do not look/);
  });

  it.each([undefined, {}, { stream: undefined }, { stream: locked }, { stream: { cancel: 7 } }])(
    "ignores a late result: %o",
    async (late) => {
      vi.useFakeTimers();
      const unhandled = vi.fn();
      process.on("unhandledRejection", unhandled);
      const doStream = () => new Promise<never>((resolve) => setTimeout(() => resolve(late as never), 50));
      const outcome = callModel({ ...modelOf([]), doStream }, request, recordListener().listener, {
        connectTimeoutMs: 20,
      }).catch((error: unknown) => error);
      await vi.advanceTimersByTimeAsync(100);
      expect(await outcome).toMatchObject({ code: "model_timeout" });
      vi.useRealTimers();
      await new Promise((resolve) => setImmediate(resolve));
      process.off("unhandledRejection", unhandled);
      expect(unhandled).not.toHaveBeenCalled();
    },
  );

  it.each(["onText", "onReasoning", "onReasoningEnd", "onToolInput", "onToolCall"] as const)(
    "passes on what %s throws, synchronously or later",
    async (method) => {
      const parts = [
        { type: "reasoning-delta", id: "r", delta: "Hm" },
        { type: "reasoning-end", id: "r" },
        { type: "text-delta", id: "t", delta: "Yes" },
        { type: "tool-input-start", id: "c", toolName: "f" },
        { type: "tool-input-delta", id: "c", delta: "{}" },
        FINISH,
      ];
      const thrown = new RangeError("enough");
      const ways = [
        () => {
          throw thrown;
        },
        () => Promise.reject(thrown),
      ];
      for (const way of method === "onReasoningEnd" ? ways.slice(0, 1) : ways) {
        const { listener } = recordListener({ [method]: way });
        await expect(callModel(modelOf(parts), request, listener)).rejects.toBe(thrown);
      }
    },
  );
});
