import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { findSlashed } from "./end-with-slash.ts";

const find = (path: string, incoming?: { readonly url?: string; readonly originalUrl?: string }) =>
  findSlashed(new URL(path, "http://x"), incoming as IncomingMessage | undefined);

describe("the slash at the end of a page's address", () => {
  it.each([
    ["/", undefined, undefined],
    ["/agents/", undefined, undefined],
    ["/agents", undefined, "./agents/"],
    ["/a/agents?x=1", undefined, "./agents/?x=1"],
    // Whoever mounts us took the base away.
    ["/", { url: "/", originalUrl: "/agents" }, "./agents/"],
    ["/?q=2", { url: "/?q=2", originalUrl: "/agents?q=2" }, "./agents/?q=2"],
    ["/", { url: "/", originalUrl: "/agents/" }, undefined],
    ["/", { url: "/agents" }, "./agents/"],
    ["/", { url: "http://x" }, undefined],
    ["/", { url: "*" }, undefined],
    // It stays on this host whatever was written.
    ["/", { url: "//evil.example" }, "./evil.example/"],
  ])("of %s, come as %o: %s", (path, incoming, expected) => {
    expect(find(path, incoming)).toBe(expected);
  });
});
