// Runs the shell commands of the server guide, in order, against a real server.
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { startLoomServer } from "../../src/server/index.ts";
import { createBuiltinTools } from "../../src/tools/index.ts";
import { findBlocks } from "../guide-pages.ts";
import { packageRoot } from "../source-files.ts";

const DEFAULT_URL = "http://127.0.0.1:10338";
/** The first frame of a run in each dialect, in the order of the guide. */
const FIRST_FRAMES = ['"run_start"', '{"RunStart"', '"request_start"', '"session_start"', '"type":"session_id"'];
const hasCurl = process.platform !== "win32" && spawnSync("curl", ["--version"]).status === 0;

it.skipIf(!hasCurl)("the curl commands of the guide run, resume, repeat and read", async () => {
  const page = readFileSync(join(packageRoot, "docs", "guides", "use-the-server.md"), "utf8");
  const [section = ""] = /^## From a shell\n[^]*?(?=^## )/m.exec(page) ?? [];
  const blocks = findBlocks("page", section);
  expect(blocks).toHaveLength(4);
  const folder = mkdtempSync(join(tmpdir(), "loom-guide-"));
  const log = new MemoryLog();
  const agents = { helper: agent({ provider: "offline", tools: createBuiltinTools(), metrics: false }) };
  const server = await startLoomServer({ log, port: 0, agents });
  try {
    const mark = "--- next block ---";
    // One shell for all blocks, because later ones use variables of earlier ones.
    const script = blocks.map(({ text }) => text).join(`echo '${mark}'\n`);
    const output = await runShell(`set -eu\n${script.replaceAll(DEFAULT_URL, server.url)}`, folder);
    const outputs = output.split(`${mark}\n`);
    expect(outputs).toHaveLength(4);
    const [whole = "", rest = "", twice = "", dialects = ""] = outputs;
    expect(whole.trimEnd().split("\n").at(-1)).toContain('"session_end"');
    expect(rest.length).toBeGreaterThan(500);
    expect(whole.endsWith(rest)).toBe(true);
    expect(rest.match(/^id: /gm)).toHaveLength((whole.match(/^id: /gm) ?? []).length - 5);
    const { run_id: run } = JSON.parse(twice.slice(0, twice.indexOf("}") + 1)) as { readonly run_id: string };
    expect(twice).toContain(`"type":"run_start","run_id":"${run}"`);
    expect(twice).toContain("48");
    // Two requests with the same key are one run.
    expect(await log.listRuns("demo")).toHaveLength(2);
    const lines = dialects.trimEnd().split("\n");
    expect(lines).toHaveLength(15);
    for (const [index, start] of FIRST_FRAMES.entries()) expect(lines[3 * index]).toContain(start);
  } finally {
    await server.close({ graceMs: 0 });
    await log.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

function runShell(script: string, cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile("sh", ["-c", script], { cwd, timeout: 20_000 }, (error, out, err) => {
      if (error === null) resolve(out);
      else reject(new Error(`${error.message}\n${out}\n${err}`));
    });
  });
}
