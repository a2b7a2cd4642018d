// The receiver as a page loads it: bundled and minified it is small, and nothing in it needs Node or makes code of text.
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { bundleForBrowser } from "./browser/bundle.ts";
import { packageRoot } from "./source-files.ts";

/**
 * The receiver of our own wire, of any dialect, and everything of its door: connections and all transports too. About
 * 1,200 bytes of each put together states that come as what changed, 300 tell branches that were given up from others.
 * 700 of the last are the names of all codes a server may refuse with, 500 tokens and tickets.
 */
const ENTRIES = [
  ["the receiver of loom", join("test", "browser", "receiver-page.ts"), 25_000],
  ["the receiver of any dialect", join("test", "browser", "any-receiver-page.ts"), 30_700],
  ["all of the client", join("src", "client", "index.ts"), 42_600],
] as const;

describe("the bundle of the receiver", () => {
  it.each(ENTRIES)("%s is small, compressed", async (what, entry, largest) => {
    const code = await bundleForBrowser(join(packageRoot, entry));
    const size = gzipSync(code, { level: 9 }).length;
    process.stdout.write(`${what}: ${code.length} characters, ${size} bytes with gzip\n`);
    expect(code).toContain("Receiver");
    expect(code).not.toMatch(/\bnode:|\bBuffer\b|\brequire\(|\bnew Function\b|\beval\(/);
    expect(size).toBeLessThanOrEqual(largest);
  });

  it("leaves React to the page, and is left out of the hooks", async () => {
    const entry = join(packageRoot, "test", "browser", "hooks-page.ts");
    const hooks = await bundleForBrowser(entry, { external: ["react", "react/jsx-runtime"] });
    expect(hooks.match(/from\s*"([^"]*)"/g)).toEqual([expect.stringContaining('"react"')]);
    // They take the receiver they are given, and bring none; of the components nothing comes along.
    expect(gzipSync(hooks).length).toBeLessThan(1500);
  });
});
