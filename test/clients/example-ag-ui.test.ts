// Runs `examples/ag-ui` against `loom serve`. The example has no code of this package.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { folder } from "../cli-run.ts";
import { packageRoot } from "../source-files.ts";
import { killServers, startServe } from "../start-serve.ts";
import { LONG } from "../sampling.ts";

const EXAMPLE = join(packageRoot, "examples", "ag-ui", "chat.ts");
afterAll(killServers);

test.runIf(LONG)("prints an answer, and the same one again for the same run", async () => {
  expect(readFileSync(EXAMPLE, "utf8")).not.toMatch(/from "loom/);
  const { url } = await startServe(join(folder, "ag-ui.db"), []);
  const ask = async (runId: string) => {
    const args = [EXAMPLE, `${url}/ag-ui`, "What is 12 * 34?", runId];
    return (await promisify(execFile)(process.execPath, args)).stdout;
  };
  const answer = await ask("run-1");
  expect(answer).toContain("408");
  expect(await ask("run-1")).toBe(answer);
});
