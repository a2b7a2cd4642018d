import { describe, expect, it, onTestFinished, vi } from "vitest";
import { callModel } from "./call-model.ts";
import { FINISH, modelOf, read, request } from "../../test/contracts/play-parts.ts";
import { recordListener } from "../../test/contracts/record-listener.ts";

describe("ProviderMetadata", () => {
  it.each<[unknown, object | undefined]>([
    [{ openai: undefined }, undefined],
    [{ openai: null }, undefined],
    [null, undefined],
    ["text", undefined],
    [{ openai: { a: 1n, b: "kept", c: () => 1, d: Number.NaN } }, { openai: { b: "kept", d: null } }],
    [{ p: { deep: JSON.parse("[".repeat(400) + "]".repeat(400)) as unknown, flat: 1 } }, { p: { flat: 1 } }],
    [{ __proto__: { a: 1 }, constructor: { b: 1 } }, { constructor: { b: 1 } }],
  ])("keeps what is JSON: %o", async (providerMetadata, kept) => {
    const { result } = await read([
      { type: "text-delta", id: "0", delta: "ok", providerMetadata },
      { type: "tool-call", toolCallId: "c", toolName: "f", input: "{}", providerMetadata },
      FINISH,
    ]);
    for (const part of result.content) expect(part.providerOptions).toEqual(kept);
    expect(result.content).toHaveLength(2);
  });

  it("counts as output, and a repeated value only if it is longer", async () => {
    const limits = { maxOutputCharacters: 1000 };
    const give = (field: (n: number) => object): unknown[] =>
      Array.from({ length: 500 }, (_, n) => ({ type: "text-delta", id: "0", delta: "x", providerMetadata: field(n) }));
    const run = (parts: readonly unknown[]) =>
      callModel(modelOf([...parts, FINISH]), request, recordListener().listener, limits);
    const code = "model_output_too_large";
    await expect(run(give((n) => ({ p: { [`k${n}`]: "v" } })))).rejects.toMatchObject({ code });
    await expect(run(give((n) => ({ [`p${n}`]: { k: "v" } })))).rejects.toMatchObject({ code });
    expect((await run(give(() => ({ p: { itemId: "the same" } })))).text).toHaveLength(500);
  });

  it("costs the same for every delta", async () => {
    const parts = Array.from({ length: 2000 }, (_, n) => ({
      type: "text-delta",
      id: "0",
      delta: "x",
      providerMetadata: { p: { [`k${n}`]: n } },
    }));
    const listed = vi.spyOn(Object, "entries");
    onTestFinished(() => listed.mockRestore());
    const { result } = await read([...parts, FINISH]);
    expect(Object.keys(result.content[0]?.providerOptions?.["p"] ?? {})).toHaveLength(2000);
    const fields = listed.mock.results.reduce((sum, { value }) => sum + (value as readonly unknown[]).length, 0);
    // Listing all metadata for every delta would take millions.
    expect(fields).toBeLessThan(10 * 2000);
  });
});
