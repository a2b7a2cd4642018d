// What is said of a session that shows nothing.
import { expect, it } from "vitest";
import type { SessionView, StreamState } from "loom-agent/client";
import { findEmptiness } from "./find-emptiness.ts";

const find = (state: Partial<StreamState>) => findEmptiness({ state } as SessionView);

it("waits only for what may come", () => {
  expect(findEmptiness(undefined)).toBe("loading");
  expect(find({ status: "repairing", reason: { code: "connection_lost", message: "" } })).toBe("loading");
  expect([find({ status: "live" }), find({ status: "complete" })]).toEqual(["new", "new"]);
  expect(find({ status: "failed", reason: { code: "unknown_session", message: "" } })).toBe("gone");
  expect(find({ status: "failed", reason: { code: "reconnect_limit", message: "" } })).toBe("failed");
  expect(find({ status: "truncated" })).toBe("failed");
});
