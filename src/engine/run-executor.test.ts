// What users see of the error that ended a run.
import { describe, expect, it } from "vitest";
import { LoomError } from "../protocol/index.ts";
import { describeFailure } from "./run-executor.ts";

describe("the failure of a run", () => {
  const reported: unknown[] = [];
  const reporter = { report: (error: unknown) => `e${reported.push(error)}` };

  it("shows the message and details of a LoomError", () => {
    const error = new LoomError("invalid_arguments", "No such city", { stage: "tool", city: "X" });
    expect(describeFailure(error, reporter)).toEqual({
      message: "No such city",
      code: "invalid_arguments",
      stage: "tool",
      recoverable: true,
      details: { city: "X" },
    });
    expect(reported).toEqual([]);
  });

  it("hides where the store is, and what other errors say", () => {
    const store = new LoomError("store_unavailable", "The database db.internal:5432/loom is not available: refused");
    const shown = describeFailure(store, reporter);
    expect(shown).toEqual({
      message: "The store of the server failed",
      code: "store_unavailable",
      details: { error_id: "e1" },
    });
    expect(describeFailure(new Error("secret"), reporter)).toMatchObject({
      code: "run_failed",
      details: { error_id: "e2" },
    });
    expect(reported).toHaveLength(2);
  });
});
