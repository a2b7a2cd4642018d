import { describe, expect, it } from "vitest";
import { LoomError } from "../../protocol/index.ts";
import type { Access } from "../auth/access.ts";
import type { Caller } from "../auth/authorize.ts";
import { LOCAL } from "../auth/principal.ts";
import { createRevocableBody } from "./revocable-body.ts";

const url = new URL("http://127.0.0.1/");
const principal = { ...LOCAL, kind: "token" } as const;
const CALLER: Caller = {
  method: "GET",
  headers: new Headers(),
  url,
  address: undefined,
  origin: "",
  principal,
  shares: [],
};

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
  const access: Pick<Access, "watch"> = {
    watch(_caller, _session, onEnd) {
      if (refused !== undefined) throw refused;
      state.onEnd = onEnd;
      return () => void state.released++;
    },
  };
  const open = (): ReadableStream<Uint8Array> => createRevocableBody({ access }, CALLER, "s", source);
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
