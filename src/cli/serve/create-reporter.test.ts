import { expect, it } from "vitest";
import { LoomError } from "../../protocol/index.ts";
import { createReporter } from "./create-reporter.ts";

function report(error: unknown, isDebug = false): readonly unknown[] {
  const logged: unknown[] = [];
  const note = (...all: unknown[]): void => void logged.push(...all);
  const silent = (): void => undefined;
  createReporter({ error: note, warn: silent, info: silent, debug: silent }, isDebug)(error, "e1");
  return logged;
}

it("logs the stack of unexpected errors, and code and cause of Loom errors", () => {
  const stack = expect.stringContaining("create-reporter.test.ts") as string;
  expect(report(new TypeError("x is not a function"))).toEqual([
    { error_id: "e1", error: "TypeError", stack },
    "x is not a function",
  ]);
  const full = new LoomError("store_full", "no room", { path: "/data/loom.db" }, { cause: new Error("disk full") });
  const about = { error_id: "e1", error: "LoomError", code: "store_full", details: full.details, cause: "disk full" };
  expect(report(full)).toEqual([about, "no room"]);
  expect(report(full, true)).toEqual([{ ...about, stack }, "no room"]);
  expect(report("a word")).toEqual([expect.objectContaining({ error: "Error" }), "a word"]);
});
