// The receiver as a page loads it: the bundle is small, needs no Node API, and does not use eval.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { bundleForBrowser } from "./browser/bundle.ts";
import { packageRoot } from "./source-files.ts";

/**
 * The receiver for the loom dialect, for all dialects, and the whole client with connections and all transports. Of
 * each, about 1,300 bytes apply state deltas, 250 recognize the closing reply of the strict form, 300 handle discarded
 * branches, 150 save and continue graph states and 80 keep a map bounded. 850 mark what
 * an interrupted attempt left. Of the last two, 200 read the attempts of a run in dialects without node runs. Of the last two, 450 show a stream with missing events in `MessageStreamHandler`.
 * Of the last two, 4,700 decode `ag-ui` and check the order of its events as its clients do, and 2,400 apply its deltas,
 * which are JSON Patch.
 * Of the last two, 3,600 read the Responses API of OpenAI and 1,900 its chat completions, also over several messages of a run.
 * Of each, about 100 show the calls that the client carries out, 300 show allowed tools and feedback, and 150 notice that
 * the first frame of a session is lost. Of each, about 450 tell the numberings of a sender apart that counts each run from 1.
 * Of the last, 700 are the server's error codes, 500 are tokens and tickets, 400 say why a page is rejected, and 400 upload and
 * download files.
 */
const ENTRIES = [
  ["receiver for loom", join("test", "browser", "receiver-page.ts"), 27_560],
  ["receiver for all dialects", join("test", "browser", "any-receiver-page.ts"), 51_900],
  ["whole client", join("src", "client", "index.ts"), 65_300],
] as const;

/** Sizes that the guide states, in kB. */
const STATED = /adds about (?<loom>\d+) kB to the bundle instead of (?<all>\d+) kB/;

describe("the client bundle", () => {
  it("has the sizes that the guide states", async () => {
    const guide = await readFile(join(packageRoot, "docs", "guides", "receive-a-stream.md"), "utf8");
    const { loom, all } = STATED.exec(guide)?.groups ?? {};
    for (const [stated, [, , largest]] of [
      [loom, ENTRIES[0]],
      [all, ENTRIES[1]],
    ] as const)
      expect(Number(stated)).toBe(Math.round(largest / 1000));
  });

  it.each(ENTRIES)("%s stays within its size limit", async (what, entry, largest) => {
    const code = await bundleForBrowser(join(packageRoot, entry));
    const size = gzipSync(code, { level: 9 }).length;
    process.stdout.write(`${what}: ${code.length} characters, ${size} bytes with gzip\n`);
    expect(code).toContain("Receiver");
    expect(code).not.toMatch(/\bnode:|\bBuffer\b|\brequire\(|\bnew Function\b|\beval\(/);
    expect(size).toBeLessThanOrEqual(largest);
  });

  it("the transport for the AI SDK is small and bundles nothing of it", async () => {
    const code = await bundleForBrowser(join(packageRoot, "src", "ai-sdk", "index.ts"));
    expect(code).not.toMatch(/\bfrom\s*"|\bimport\(|\bnode:|\bBuffer\b/);
    expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(4500);
  });

  it("the hooks bundle neither React nor the receiver", async () => {
    const entry = join(packageRoot, "test", "browser", "hooks-page.ts");
    const hooks = await bundleForBrowser(entry, { external: ["react", "react/jsx-runtime"] });
    expect(hooks.match(/from\s*"([^"]*)"/g)).toEqual([expect.stringContaining('"react"')]);
    // The hooks use the receiver they are given, and import no component.
    expect(gzipSync(hooks).length).toBeLessThan(1500);
  });
});
