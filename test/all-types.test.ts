// The command in the README of spec/ shows every event type of specification 001.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { nodeArgs } from "./bundle-source.ts";
import { COMMAND, environment, folder, parseLines } from "./cli-run.ts";
import { packageRoot } from "./source-files.ts";

/** The types of specification 001 §4.2. */
const TYPES =
  "checkpoint custom got_expand got_node_complete got_node_failed got_node_start got_plan message_chunk node_enter node_exit run_start tool_approval tool_call tool_call_chunk tool_end tool_output tool_start tot_backtrack tot_evaluate tot_expand updates usage values".split(
    " ",
  );

it("a default installation sends all 23 types", () => {
  const readme = readFileSync(join(packageRoot, "spec", "README.md"), "utf8");
  const [, command = ""] = /```sh\n([^]+?)```/.exec(readme) ?? [];
  const frames = join(folder, "all-types.ndjson");
  // The frames are kept, because values inside them may also have a `type`.
  const program = `loom() { "${process.execPath}" ${nodeArgs().join(" ")} "${COMMAND}" "$@"; }\n${command.replace("\n) |", `\n) | tee "${frames}" |`)}`;
  const env = environment({ LOOM_STORE: join(folder, "all-types.db"), LOOM_KB: join(folder, "all-types-kb.db") });
  const cwd = join(packageRoot, "spec", "vectors");
  const { stdout, stderr } = spawnSync("sh", ["-c", program], { cwd, env, encoding: "utf8" });
  const sent = new Set(parseLines(readFileSync(frames, "utf8")).map(({ type }) => type));
  expect(TYPES).toHaveLength(23);
  for (const type of TYPES) {
    expect(sent, stderr).toContain(type);
    expect(stdout).toContain(`"type":"${type}"`);
  }
}, 120_000);
