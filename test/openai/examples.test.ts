// Runs the programs of examples/openai against `loom serve`.
import { execFile } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { packageRoot } from "../source-files.ts";
import { killServers, startServe } from "../start-serve.ts";
import { LONG } from "../sampling.ts";

const run = promisify(execFile);
const FOLDER = join(packageRoot, "examples", "openai");

afterAll(killServers);

describe("examples/openai", () => {
  it.runIf(LONG)("work with a server as it is", { timeout: 60_000 }, async () => {
    const { url } = await startServe(join(mkdtempSync(join(tmpdir(), "loom-openai-")), "loom.db"), []);
    const script = await run(process.execPath, [join(FOLDER, "resume.ts"), url]);
    const lines = script.stdout.trim().split("\n");
    expect(lines[0]).toContain("391");
    expect(script.stdout).toContain("none missing: true");
    expect(lines.at(-1)).toMatch(/^completed .*42/);
    const shell = await run("sh", [join(FOLDER, "chat.sh"), url]);
    expect(shell.stdout).toContain('"object":"model"');
    expect(shell.stdout).toContain("391");
    expect(shell.stdout).toMatch(/data: \[DONE\]\n\n$/);
  });
});
