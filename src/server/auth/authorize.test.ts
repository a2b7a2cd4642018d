import { expect, test } from "vitest";
import { LoomError } from "../../protocol/index.ts";
import { type AuthorizeRequest, isAllowed } from "./authorize.ts";

test("a refusal is an answer; a store that fails is an error", async () => {
  const ask = (code: "forbidden" | "store_unavailable"): Promise<boolean> =>
    isAllowed(() => Promise.reject(new LoomError(code, "no")), {} as AuthorizeRequest);
  expect(await ask("forbidden")).toBe(false);
  await expect(ask("store_unavailable")).rejects.toThrow("no");
});
