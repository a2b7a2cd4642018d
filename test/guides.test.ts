// Runs each program in the README, the quickstarts and the guides that is followed by its output, and compares the
// output. The programs run against the source, not dist.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { DIALECTS } from "../src/dialects/index.ts";
import { nodeArgs } from "./bundle-source.ts";
import { type Block, findBlocks, readBlocks } from "./guide-pages.ts";
import { PROGRAM_SAMPLES, sampleCases } from "./sampling.ts";
import { packageRoot } from "./source-files.ts";
import { SOURCE_HOOK } from "./source-hook.ts";

interface Program extends Block {
  /** Expected output. */
  readonly output: string;
}

const folder = mkdtempSync(join(tmpdir(), "loom-guides-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Code blocks that are followed by a text block. */
function findPrograms(blocks: readonly Block[]): Program[] {
  return blocks.flatMap((block, index) => {
    const { language } = block;
    const { language: next, text: output = "" } = blocks[index + 1] ?? {};
    return (language === "ts" || language === "js") && next === "text" ? [{ ...block, output }] : [];
  });
}

async function run({ name, language, text }: Program): Promise<{ code: number | null; out: string; err: string }> {
  const cwd = join(folder, name.replaceAll(/\W+/g, "-"));
  mkdirSync(cwd);
  const file = join(cwd, language === "ts" ? "program.ts" : "program.mjs");
  writeFileSync(file, text);
  const child = spawn(process.execPath, [...nodeArgs(), "--import", SOURCE_HOOK, file], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1" },
  });
  const chunks = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (chunks.out += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (chunks.err += chunk));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject).on("close", resolve);
  });
  return { code, ...chunks };
}

/** The names of the same event in `stream` and in `events`, as `stream events`, of a table in a page. */
function readEventNames(page: string): string[] {
  const [table = ""] = /^\| What happened [^]*?\n\n/m.exec(readFileSync(join(packageRoot, page), "utf8")) ?? [];
  return [...table.matchAll(/^\| [a-z].*?\| `(\w+)` +\| `(\w+)` +\|$/gm)].map(
    ([, ofStream = "", ofEvents = ""]) => `${ofStream} ${ofEvents}`,
  );
}

const programs = readBlocks().flatMap((blocks) => findPrograms(blocks));

it("the guide lists the events that `stream` and `events` name differently", () => {
  const { ledger } = DIALECTS["stream-event"];
  const carried = Object.entries(ledger).flatMap(([type, entry]) =>
    entry.support === "carried" ? [`${entry.frame} ${type}`] : [],
  );
  expect(readEventNames("docs/guides/build-an-agent.md").toSorted()).toEqual(carried.toSorted());
});

describe("programs in the guides", () => {
  it("are found", () => {
    expect(programs.length).toBeGreaterThan(15);
    const markdown = "```ts\nrun();\n```\n\n```text\nran\n```\n\n```js\nwalk();\n```\n\n```sh\nls\n```\n";
    expect(findPrograms(findBlocks("p", markdown))).toEqual([
      { name: "p:1", language: "ts", text: "run();\n", output: "ran\n" },
    ]);
  });

  it.concurrent.each(sampleCases(programs, { perKind: PROGRAM_SAMPLES.guides }))(
    "$name prints the output on the page",
    async (program) => {
      expect(await run(program)).toEqual({ code: 0, out: program.output, err: "" });
    },
  );
});
