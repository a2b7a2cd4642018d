// Reasons for an empty session.
import { expect, it } from "vitest";
import type { SessionView, StreamState } from "loom-agent/client";
import { findEmptyReason } from "./conversation-pane.tsx";

const find = (state: Partial<StreamState>) => findEmptyReason({ state } as SessionView);

it("is loading only while the session may still appear", () => {
  expect(findEmptyReason(undefined)).toBe("loading");
  expect(find({ status: "repairing", reason: { code: "connection_lost", message: "" } })).toBe("loading");
  expect([find({ status: "live" }), find({ status: "complete" })]).toEqual(["new", "new"]);
  expect(find({ status: "failed", reason: { code: "unknown_session", message: "" } })).toBe("gone");
  expect(find({ status: "failed", reason: { code: "reconnect_limit", message: "" } })).toBe("failed");
  expect(find({ status: "truncated" })).toBe("failed");
});
