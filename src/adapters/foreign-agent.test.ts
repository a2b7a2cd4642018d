import { describe, expect, it } from "vitest";
import { foreignAgent } from "./foreign-agent.ts";
import { fromAsyncIterable } from "./from-async-iterable.ts";

describe("foreignAgent", () => {
  it("suggests the option that was probably meant", () => {
    const make = (): unknown => foreignAgent(() => fromAsyncIterable([] as never), { maxIdelMs: 10 } as object);
    expect(make).toThrow(expect.objectContaining({ code: "invalid_arguments" }));
    expect(make).toThrow("did you mean `maxIdleMs`?");
  });
});
