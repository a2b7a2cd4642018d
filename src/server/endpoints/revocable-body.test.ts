import { describe, expect, it } from "vitest";
import { LoomError } from "../../protocol/index.ts";
import { createRevocableBody } from "./revocable-body.ts";

function createFixture(refused?: LoomError) {
  let left = 3;
  const state: { released: number; cancelled: unknown; onEnd: (reason: LoomError) => void } = {
    released: 0,
    cancelled: undefined,
    onEnd: () => undefined,
  };
  const source = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (left-- > 0) controller.enqueue(new Uint8Array([left]));
      else controller.close();
    },
    cancel: (reason) => void (state.cancelled = reason),
  });
  const open = (): ReadableStream<Uint8Array> =>
    createRevocableBody(source, (onEnd) => {
      if (refused !== undefined) throw refused;
      state.onEnd = onEnd;
      return () => void state.released++;
    });
  return { open, state };
}

describe("a revocable body", () => {
  it("is complete and releases its watch", async () => {
    const { open, state } = createFixture();
    const body = open();
    expect(await new Response(body).bytes()).toEqual(new Uint8Array([2, 1, 0]));
    await expect.poll(() => state.released).toBe(1);
  });

  it("breaks off when access ends", async () => {
    const { open, state } = createFixture();
    const body = open();
    const reader = body.getReader();
    await reader.read();
    state.onEnd(new LoomError("unauthorized", "revoked"));
    await expect(reader.read()).rejects.toThrow("revoked");
    await expect.poll(() => state.released).toBe(1);
    expect(state.cancelled).toBeInstanceOf(LoomError);
  });

  it("is cancelled if the watch is rejected", () => {
    const refused = new LoomError("too_many_streams", "limit reached");
    const { open, state } = createFixture(refused);
    expect(open).toThrow(refused);
    expect(state.cancelled).toBe(refused);
  });

  it("releases its watch when the reader cancels", async () => {
    const { open, state } = createFixture();
    const body = open();
    await body.cancel();
    await expect.poll(() => state.released).toBe(1);
  });
});
