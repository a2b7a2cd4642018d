/**
 * Feeds parsers and tools their worst input. No turn of the event loop may take more than 100 ms of CPU on the main
 * thread. Add a row to `CASES` for each new parser.
 */
import { Buffer } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { listJson } from "../src/agents/read-json.ts";
import { removeThinking } from "../src/models/think-tags.ts";
import { decodeText } from "../src/context/knowledge-base/decode-text.ts";
import { indexDocument, readText } from "../src/context/knowledge-base/read-document.ts";
import { resolveLimits } from "../src/context/knowledge-base/knowledge-base-options.ts";
import { createNdjsonDecoder, createSseDecoder } from "../src/framing/index.ts";
import { listWords } from "../src/log/search-text.ts";
import { evaluateExpression } from "../src/tools/index.ts";

const MAX_TURN_MS = 100;
/** The shortest of these attempts counts, because other processes and the compiler disturb single ones. */
const ATTEMPTS = 3;

const CASES: readonly (readonly [name: string, run: () => unknown])[] = [
  ["calculator: factorials", () => evaluateExpression("999!^0+".repeat(280) + "1")],
  ["calculator: roots", () => evaluateExpression("(2^9984)^(1/64)+".repeat(120) + "1")],
  ["calculator: fractions", () => evaluateExpression("1/3^3000" + "+1/7^200".repeat(200))],
  ["text: line feeds", () => readWhole("\n", "text")],
  ["text: carriage returns", () => readWhole("\r", "text")],
  ["text: short lines", () => readWhole("a\n", "text")],
  ["Markdown: line feeds", () => readWhole("\n", "markdown")],
  ["Markdown: headings", () => readWhole("# a\n", "markdown")],
  ["Markdown: an open code block", () => readWhole("\n", "markdown", "```\n")],
  ["HTML: open tags", () => readWhole("<a ", "html")],
  ["HTML: an open tag with spaces", () => readWhole(" ", "html", "<a =")],
  ["HTML: items", () => readWhole("<li>", "html")],
  ["reasoning of a model: closing tags", () => removeThinking("</think>".repeat(50_000))],
  ["JSON of a model: open arrays", () => [...listJson("[".repeat(9999) + "]")]],
  ["JSON of a model: open objects", () => [...listJson('{"a":'.repeat(80_000) + "}")]],
  ["search words: marks", () => listWords("e\u0301".repeat(40_000))],
  ["NDJSON: blank lines", () => createNdjsonDecoder().push(fill("\n", 65_536))],
  ["SSE: empty data lines", () => createSseDecoder().push(fill("data\n", 65_536))],
];

/** Bytes of a document, which is just below the limit of the knowledge base. */
const DOCUMENT_BYTES = process.env["LOOM_LONG"] === "1" ? 9_000_000 : 3_000_000;

async function readWhole(unit: string, format: "text" | "markdown" | "html", start = ""): Promise<void> {
  const bytes = Buffer.alloc(DOCUMENT_BYTES, unit);
  bytes.write(start);
  // Creating the input is not part of the measured turn.
  await nextTurn();
  await indexDocument(await readText(decodeText(bytes), format, "worst"), resolveLimits({}));
}

function fill(unit: string, bytes: number): Uint8Array {
  return new TextEncoder().encode(unit.repeat(bytes / unit.length));
}

async function measureLongestTurn(run: () => unknown): Promise<number> {
  let longest = 0;
  let isDone = false;
  let before = process.threadCpuUsage();
  const watch = async (): Promise<void> => {
    for (;;) {
      await nextTurn();
      const { user, system } = process.threadCpuUsage(before);
      longest = Math.max(longest, (user + system) / 1000);
      if (isDone) return;
      before = process.threadCpuUsage();
    }
  };
  const watching = watch();
  await run();
  isDone = true;
  await watching;
  return longest;
}

it.each(CASES)("keeps each turn of the event loop short: %s", { timeout: 120_000 }, async (_, run) => {
  let shortest = Infinity;
  for (let attempt = 0; attempt < ATTEMPTS && shortest > MAX_TURN_MS; attempt++)
    shortest = Math.min(shortest, await measureLongestTurn(run));
  expect(shortest).toBeLessThanOrEqual(MAX_TURN_MS);
});
