// Reasons for an empty session, and the code of conversations that cannot be loaded.
import { act, createElement } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { SessionView, StreamState } from "loom-agent/client";
import { useDom } from "../../../test/ai-sdk/chat-fixture.ts";
import { findEmptyReason, LoadFailure } from "./conversation-pane.tsx";

const find = (state: Partial<StreamState>) => findEmptyReason({ state } as SessionView);

it("is loading only while the session may still appear", () => {
  expect(findEmptyReason(undefined)).toBe("loading");
  expect(find({ status: "repairing", reason: { code: "connection_lost", message: "" } })).toBe("loading");
  expect([find({ status: "live" }), find({ status: "complete" })]).toEqual(["new", "new"]);
  expect(find({ status: "failed", reason: { code: "unknown_session", message: "" } })).toBe("gone");
  expect(find({ status: "failed", reason: { code: "reconnect_limit", message: "" } })).toBe("failed");
  expect(find({ status: "truncated" })).toBe("failed");
});

describe("code that cannot be loaded", () => {
  beforeEach(useDom);
  afterEach(() => void vi.unstubAllGlobals());

  it("is loaded again by a click, or when the device is online", () => {
    vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
    const page = new EventTarget();
    vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
    vi.stubGlobal("removeEventListener", page.removeEventListener.bind(page));
    const onRetry = vi.fn();
    const element = document.createElement("div");
    const root = createRoot(element);
    act(() => root.render(createElement(LoadFailure, { failure: "no such file", onRetry })));
    expect(element.textContent).toContain("no such file");
    const retry = [...element.querySelectorAll("button")].find(({ textContent }) => textContent.includes("Try again"));
    act(() => retry?.click());
    page.dispatchEvent(new Event("online"));
    expect(onRetry).toHaveBeenCalledTimes(2);
    act(() => root.unmount());
    page.dispatchEvent(new Event("online"));
    expect(onRetry).toHaveBeenCalledTimes(2);
  });
});
