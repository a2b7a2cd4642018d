import { expect, test } from "vitest";
import { LoomError } from "../../protocol/index.ts";
import type { Caller } from "../auth/authorize.ts";
import type { ServerCore } from "../api/server-core.ts";
import { mayReadPrompts } from "./model-calls.ts";

test("only a refused caller exports without prompts; a store that fails is an error", async () => {
  const ask = (code: "forbidden" | "store_unavailable"): Promise<boolean> => {
    const core = { authorize: () => Promise.reject(new LoomError(code, "no")) } as unknown as ServerCore;
    return mayReadPrompts(core, {} as Caller, "s");
  };
  expect(await ask("forbidden")).toBe(false);
  await expect(ask("store_unavailable")).rejects.toThrow("no");
});
