// Follows the page on adding a dialect in a copy of the source: its files and three list entries are enough.
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { EVENT_TYPES } from "../src/protocol/index.ts";
import { findBlocks } from "./guide-pages.ts";
import { LONG } from "./sampling.ts";
import { packageRoot } from "./source-files.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-add-a-dialect-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const GUIDE = join(packageRoot, "docs", "contributing", "extend-loom.md");
const REST = /^ *\/\/ A row for each other event type.*\n/m;

/** Creates the copy, with the files of the guide. */
function copySource(): void {
  for (const path of ["protocol", "framing", "dialects"])
    cpSync(join(packageRoot, "src", path), join(folder, "src", path), { recursive: true });
  cpSync(join(packageRoot, "scripts", "generate"), join(folder, "scripts", "generate"), { recursive: true });
  symlinkSync(join(packageRoot, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const config = {
    extends: join(packageRoot, "tsconfig.json"),
    include: ["src"],
    exclude: ["**/*.test.ts"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  mkdirSync(join(folder, "src", "dialects", "text"));
  for (const { language, text } of findBlocks("guide", readFileSync(GUIDE, "utf8"))) {
    const path = /^\/\/ (?<path>src\/\S+)\n/.exec(text)?.groups?.["path"];
    if (language === "ts" && path !== undefined) writeFileSync(join(folder, path), text.replace(REST, listRest(text)));
  }
}

/** Rows for the event types that the guide leaves out. */
function listRest(text: string): string {
  const rest = EVENT_TYPES.filter((type) => !new RegExp(`^  ${type}: `, "m").test(text));
  return rest.map((type) => `  ${type}: TEXT_ONLY,\n`).join("");
}

function edit(path: string, ...changes: readonly (readonly [before: string | RegExp, after: string])[]): void {
  const file = join(folder, "src", "dialects", path);
  let text = readFileSync(file, "utf8");
  for (const [before, after] of changes) {
    expect(text).toMatch(before);
    text = text.replace(before, after);
  }
  writeFileSync(file, text);
}

async function run(program: string, ...args: readonly string[]): Promise<string[]> {
  const output = await new Promise<string>((resolve) => {
    execFile(program, [...args], { cwd: folder }, (_, out, err) => resolve(out + err));
  });
  return output.split("\n").filter((line) => line.trim() !== "");
}

const compile = (): Promise<string[]> => run(join(packageRoot, "node_modules", ".bin", "tsc"), "--noEmit", "-p", ".");

/** What `npm run generate` does with the files of the new dialect. */
const GENERATE = `
import { writeFileSync } from "node:fs";
import { emitCode } from "./scripts/generate/emit-code.ts";
import { TEXT_FRAMES } from "./src/dialects/text/frames.ts";
const code = emitCode({ union: "TextFrame", shapes: TEXT_FRAMES, suffix: "Frame", protocolPath: "../../protocol" });
writeFileSync("src/dialects/text/frames.generated.ts", code);
`;

/** Converts a run to the new dialect, and prints its frames, the detected dialect and what was read back. */
const CONVERT = `
import { createStreamConverter, detectDialect, DIALECTS } from "./src/dialects/index.ts";
const run = [
  { type: "run_start", run_id: "r" },
  { type: "node_enter", id: "think" },
  { type: "message_chunk", content: "Hello", id: "think" },
  { type: "run_end", status: "completed" },
  { reply: "Hello" },
];
const converter = createStreamConverter(DIALECTS.loom, DIALECTS.text);
const texts = run.flatMap((frame) => converter.convert(JSON.stringify(frame)).frames);
const decoder = DIALECTS.text.createDecoder();
const decoded = texts.map((text) => decoder.decode(text));
console.log(texts.join("\\n"));
console.log(detectDialect(texts).name, ...decoded.flatMap(({ records }) => records.map(({ event }) => event.type)));
console.log(decoded.flatMap(({ issues }) => issues).length, "issues");
`;

it.runIf(LONG)("needs the files of the guide and four list entries", { timeout: 240_000 }, async () => {
  copySource();
  writeFileSync(join(folder, "generate.ts"), GENERATE);
  expect(await run(process.execPath, "generate.ts")).toEqual([]);
  edit("dialect.ts", [/(?<=DIALECT_NAMES = \[[^\]]*)\]/, '"text"]']);
  const errors = await compile();
  expect(errors.map((line) => line.slice(0, line.indexOf("(")))).toEqual([
    "src/dialects/decoders.ts",
    "src/dialects/index.ts",
    "src/dialects/load-dialect.ts",
  ]);
  for (const error of errors) expect(error).toContain("'text' is missing");
  edit(
    "decoders.ts",
    [/^import /m, 'import { TEXT_DECODING } from "./text/decode.ts";\nimport '],
    [/^ {2}loom: /m, "  text: TEXT_DECODING,\n  loom: "],
  );
  edit(
    "index.ts",
    [/^import /m, 'import { text } from "./text/index.ts";\nimport '],
    [/^ {2}loom,/m, "  loom,\n  text,"],
  );
  edit("load-dialect.ts", [/^ {2}loom: /m, '  text: async () => (await import("./text/index.ts")).text,\n  loom: ']);
  expect(await compile()).toEqual([]);
  writeFileSync(join(folder, "convert.ts"), CONVERT);
  expect(await run(process.execPath, "convert.ts")).toEqual([
    '{"type":"start"}',
    '{"type":"delta","text":"Hello"}',
    '{"type":"finish","status":"completed","reply":"Hello"}',
    "text run_start message_chunk run_end reply",
    "0 issues",
  ]);
});
