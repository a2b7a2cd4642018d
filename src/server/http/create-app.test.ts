import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { findSlashRedirect } from "./create-app.ts";

const find = (path: string, incoming?: { readonly url?: string; readonly originalUrl?: string }) =>
  findSlashRedirect(new URL(path, "http://x"), incoming as IncomingMessage | undefined);

describe("the slash redirect", () => {
  it.each([
    ["/", undefined, undefined],
    ["/agents/", undefined, undefined],
    ["/agents", undefined, "./agents/"],
    ["/a/agents?x=1", undefined, "./agents/?x=1"],
    // The framework has removed the base path.
    ["/", { url: "/", originalUrl: "/agents" }, "./agents/"],
    ["/?q=2", { url: "/?q=2", originalUrl: "/agents?q=2" }, "./agents/?q=2"],
    ["/", { url: "/", originalUrl: "/agents/" }, undefined],
    ["/", { url: "/agents" }, "./agents/"],
    ["/", { url: "http://x" }, undefined],
    ["/", { url: "*" }, undefined],
    // Stays on this host.
    ["/", { url: "//evil.example" }, "./evil.example/"],
  ])("of %s with %o is %s", (path, incoming, expected) => {
    expect(find(path, incoming)).toBe(expected);
  });
});
