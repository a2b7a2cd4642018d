import { describe, expect, it } from "vitest";
import { LoomError } from "../../protocol/index.ts";
import { leaseBody } from "./lease-body.ts";

function setStage(refused?: LoomError) {
  let left = 3;
  const state: { released: number; cancelled: unknown; onEnd: (why: LoomError) => void } = {
    released: 0,
    cancelled: undefined,
    onEnd: () => undefined,
  };
  const source = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (left-- > 0) controller.enqueue(new Uint8Array([left]));
      else controller.close();
    },
    cancel: (why) => void (state.cancelled = why),
  });
  const open = (): ReadableStream<Uint8Array> =>
    leaseBody(source, (onEnd) => {
      if (refused !== undefined) throw refused;
      state.onEnd = onEnd;
      return () => void state.released++;
    });
  return { open, state };
}

describe("a body that is leased", () => {
  it("comes whole, and gives the lease back", async () => {
    const { open, state } = setStage();
    const body = open();
    expect(await new Response(body).bytes()).toEqual(new Uint8Array([2, 1, 0]));
    await expect.poll(() => state.released).toBe(1);
  });

  it("breaks off when leave ends", async () => {
    const { open, state } = setStage();
    const body = open();
    const reader = body.getReader();
    await reader.read();
    state.onEnd(new LoomError("unauthorized", "revoked"));
    await expect(reader.read()).rejects.toThrow("revoked");
    await expect.poll(() => state.released).toBe(1);
    expect(state.cancelled).toBeInstanceOf(LoomError);
  });

  it("is let go of where there is no leave", () => {
    const refused = new LoomError("too_many_streams", "so many");
    const { open, state } = setStage(refused);
    expect(open).toThrow(refused);
    expect(state.cancelled).toBe(refused);
  });

  it("is given back when nobody reads on", async () => {
    const { open, state } = setStage();
    const body = open();
    await body.cancel();
    await expect.poll(() => state.released).toBe(1);
  });
});
