// The programs in the README and the guides: each that is followed by what it prints is run, and must print just that.
// They run the source, so that what was built last does not matter.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type Block, findBlocks, readBlocks } from "./guide-pages.ts";
import { PROGRAM_SAMPLES } from "./sampling.ts";
import { SOURCE_HOOK } from "./source-hook.ts";

interface Program extends Block {
  /** What the page says it prints. */
  readonly output: string;
}

const folder = mkdtempSync(join(tmpdir(), "loom-guides-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A block of code whose next block is a text. */
function findPrograms(blocks: readonly Block[]): Program[] {
  return blocks.flatMap((block, index) => {
    const { language } = block;
    const { language: next, text: output = "" } = blocks[index + 1] ?? {};
    return (language === "ts" || language === "js") && next === "text" ? [{ ...block, output }] : [];
  });
}

async function run({ name, language, text }: Program): Promise<{ code: number | null; out: string; err: string }> {
  const place = join(folder, name.replaceAll(/\W+/g, "-"));
  mkdirSync(place);
  const file = join(place, language === "ts" ? "program.ts" : "program.mjs");
  writeFileSync(file, text);
  const child = spawn(process.execPath, ["--import", SOURCE_HOOK, file], {
    cwd: place,
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

const programs = readBlocks().flatMap((blocks) => findPrograms(blocks));

describe("the programs of the guides", () => {
  it("are found", () => {
    expect(programs.length).toBeGreaterThan(15);
    const markdown = "```ts\nrun();\n```\n\n```text\nran\n```\n\n```js\nwalk();\n```\n\n```sh\nls\n```\n";
    expect(findPrograms(findBlocks("p", markdown))).toEqual([
      { name: "p:1", language: "ts", text: "run();\n", output: "ran\n" },
    ]);
  });

  const chosen = programs.filter((_, index) => index % PROGRAM_SAMPLES.guideStep === 0);
  it.concurrent.each(chosen)("$name prints what the page says", async (program) => {
    expect(await run(program)).toEqual({ code: 0, out: program.output, err: "" });
  });
});
