import { describe, expect, it } from "vitest";
import { foreignAgent } from "./foreign-agent.ts";
import { fromAsyncIterable } from "./from-async-iterable.ts";

describe("foreignAgent", () => {
  it("yields the events of its runs", async () => {
    await using helper = foreignAgent(() => fromAsyncIterable(["Hel", "lo"] as never));
    const types: string[] = [];
    for await (const { type } of helper.events("Hi")) types.push(type);
    const chunks = ["message_chunk", "message_chunk"];
    expect(types).toEqual(["run_start", "node_enter", ...chunks, "node_exit", "run_end", "reply"]);
  });

  it("suggests the option that was probably meant", () => {
    const make = (): unknown => foreignAgent(() => fromAsyncIterable([] as never), { maxIdelMs: 10 } as object);
    expect(make).toThrow(expect.objectContaining({ code: "invalid_arguments" }));
    expect(make).toThrow("did you mean `maxIdleMs`?");
  });
});
