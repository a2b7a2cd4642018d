/**
 * Feeds parsers and tools their worst input. No turn of the event loop may take more CPU time on the main thread than
 * `MAX_TURN` times a fixed piece of work, which this machine does in the same run. Add a row to `CASES` for each new
 * parser.
 */
import { Buffer } from "node:buffer";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { beforeAll, expect, it } from "vitest";
import { readComplex } from "../src/agents/got/expand-node.ts";
import { readPlan } from "../src/agents/got/read-plan.ts";
import { readResultScores } from "../src/agents/got/score-results.ts";
import { listJson } from "../src/agents/read-json.ts";
import { readScore } from "../src/agents/read-score.ts";
import { readProposals, readSample } from "../src/agents/tot/read-thoughts.ts";
import { readValue, readVote } from "../src/agents/tot/read-verdict.ts";
import { PartialJson } from "../src/protocol/partial-json.ts";
import { readQuery } from "../src/context/knowledge-base/query-terms.ts";
import { PdfReader } from "../src/context/knowledge-base/read-pdf.ts";
import { readTerms } from "../src/context/knowledge-base/read-terms.ts";
import { DIALECTS } from "../src/dialects/index.ts";
import { DECODERS } from "../src/dialects/decoders.ts";
import type { FrameDecoder } from "../src/framing/frame.ts";
import type { JsonObject } from "../src/protocol/index.ts";
import { readCookies } from "../src/server/auth/request-credentials.ts";
import { createJwtVerifier } from "../src/server/auth/jwt/verify-jwt.ts";
import { chooseMediaType } from "../src/server/endpoints/choose-media-type.ts";
import { decodePage } from "../src/tools/fetch/decode-page.ts";
import { createFileTools } from "../src/tools/files/create-file-tools.ts";
import { findSvgFault } from "../src/tools/find-svg-fault.ts";
import { readMcpResult } from "../src/tools/mcp/read-mcp-result.ts";
import { readArguments } from "../src/tools/read-arguments.ts";
import { runToolCall } from "../src/tools/run-tool-call.ts";
import { createToolbox } from "../src/tools/toolbox.ts";
import { sampleCases, WORST_SAMPLES } from "./sampling.ts";
import { callOf, createToolRecorder } from "./tool-recorder.ts";
import { removeThinking } from "../src/models/think-tags.ts";
import { decodeText } from "../src/context/knowledge-base/decode-text.ts";
import { indexDocument, readText } from "../src/context/knowledge-base/read-document.ts";
import { resolveLimits } from "../src/context/knowledge-base/knowledge-base-options.ts";
import { createNdjsonDecoder, createSseDecoder } from "../src/framing/index.ts";
import type { Framing } from "../src/framing/detect-framing.ts";
import { MemoryLog } from "../src/log/index.ts";
import { listWords } from "../src/log/search-text.ts";
import { ingestStream } from "../src/server/ingest/ingest-stream.ts";
import { evaluateExpression } from "../src/tools/index.ts";

/** In units of `measureUnit`, each about 4 ms on an idle machine of 2024. */
const MAX_TURN = 25;
/** The shortest of these attempts counts, because other processes and the compiler disturb single ones. */
const ATTEMPTS = 3;

/** As long as the output of a model can be. */
const MODEL_CHARACTERS = 900_000;
/** As long as a message of an MCP server can be. */
const MCP_BYTES = 8 * 1024 * 1024;
const JSON_ONLY = [{ format: "json", mediaTypes: ["application/json"] }] as const;

const MODEL_TEXTS: readonly (readonly [name: string, text: string])[] = [
  ["line feeds", fillText("\n", MODEL_CHARACTERS) + "{]"],
  ["spaces", fillText(" ", MODEL_CHARACTERS) + "{x"],
  ["list items", fillText("- a\n", MODEL_CHARACTERS)],
  ["bold lines", fillText("**a\n", MODEL_CHARACTERS)],
  ["numbers", fillText("score: 1 out of ", MODEL_CHARACTERS)],
  ["code fences", fillText("```\n", MODEL_CHARACTERS)],
  ["a backslash", `{"${fillText("\\", MODEL_CHARACTERS)}`],
  ["an array of numbers", `[${fillText("1,", MODEL_CHARACTERS)}`],
  ["an array of objects", `[${fillText('{"Id":1,"Score":2},', 300_000)}{}]`],
];

/** Frames just below the size limit of a frame in `npm test`; longer ones only take JSON.parse longer. */
const FRAMES: readonly (readonly [kind: string, frame: string])[] = [
  ["many fields", `{"type":"message_chunk","content":"a"${listFields(20_000)}}`],
  ["nested arrays", `{"type":"custom","name":"x","value":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
  [
    "items",
    `{"type":"todo_list","list_id":"l","items":[${fillText('{"id":"a","text":"b","status":"?"},', 300_000)}{}]}`,
  ],
  ["an open array", `{"type":"custom","value":${fillText("[", 300_000)}`],
  ["surrogates", `{"type":"message_chunk","content":"${fillText("\\ud800", 300_000)}"}`],
];

function fillText(unit: string, characters: number): string {
  return unit.repeat(Math.floor(characters / unit.length));
}

function listFields(count: number): string {
  return Array.from({ length: count }, (_, index) => `,"k${index}":1`).join("");
}

const CASES: readonly (readonly [name: string, run: () => unknown])[] = [
  ["calculator: factorials", () => evaluateExpression("999!^0+".repeat(280) + "1")],
  ["calculator: roots", () => evaluateExpression("(2^9984)^(1/64)+".repeat(120) + "1")],
  ["calculator: fractions", () => evaluateExpression("1/3^3000" + "+1/7^200".repeat(200))],
  ["ingested line feeds", () => ingestText("\n".repeat(6_000_000))],
  ["ingested data lines", () => ingestText("data: x\n".repeat(200_000), "sse")],
  ["ingested text chunks", () => ingestText('{"type":"message_chunk","content":"x","id":"n"}\n'.repeat(20_000))],
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
  ...MODEL_TEXTS.flatMap(([name, text]) => [
    [`steps of a model: ${name}`, () => readSteps(text)] as const,
    [`score of a model: ${name}`, () => [readValue(text), readScore(text)]] as const,
    [`vote of a model: ${name}`, () => readVote(text, 5)] as const,
    [`complexity by a model: ${name}`, () => readComplex(text)] as const,
    [`plan of a model: ${name}`, () => [readPlan(text, 2000), readResultScores(text, [{ id: "a" }])]] as const,
    [`arguments of a model: ${name}`, () => readArguments({ input: undefined, rawInput: text })] as const,
  ]),
  ["plan of a model: edges", () => readPlan(writePlan("", `["a","b"]`), 2000)],
  ["plan of a model: an edge of spaces", () => readPlan(writePlan("", `"${fillText(" ", 800_000)}x"`), 2000)],
  ["plan of a model: needs of spaces", () => readPlan(writePlan(fillText(" ", 800_000)), 2000)],
  ["partial JSON: single characters", () => readPartial(`{"a":${fillText("[1,", 30_000)}`, 1)],
  ["partial JSON: one piece", () => readPartial(fillText('{"a":"', 100_000), 100_000)],
  ["page: less-than signs", () => fetchPage("<")],
  ["page: headings", () => fetchPage("<h1>")],
  ["page: lines of code", () => fetchPage("<pre>\n")],
  ["page: cells", () => fetchPage("<td></td>")],
  ["file: invalid bytes", () => decodeBytes(0xff)],
  ["file: Latin-1", () => decodeBytes(0xe9, 0x20)],
  ["file: GB 18030", () => decodeBytes(0xb2, 0xbf, 0xca, 0xf0, 0xd6, 0xb8, 0xc4, 0xcf)],
  ["file: UTF-16", () => decodeBytes(0x61, 0)],
  ["PDF: objects", () => readPdf("%PDF-1.7\n", "1 0 obj\n")],
  ["PDF: open arrays", () => readPdf("%PDF-1.7\n1 0 obj\n", "[")],
  ["file tools: line feeds", () => searchFile("\n", "x")],
  ["file tools: short lines", () => searchFile("a\n", "b")],
  ["file tools: one long line", () => searchFile("İ", "x")],
  ["knowledge: Korean in parts", () => readTerms("\u1100\u1161".repeat(5000))],
  ["knowledge: words with marks", () => readTerms("e\u0301".repeat(5000))],
  ["knowledge: a query", () => readQuery("的什么是".repeat(500))],
  [
    "MCP: stack lines",
    () => readMcp({ isError: true, content: [{ type: "text", text: fillText("  at a\n", MCP_BYTES) }] }),
  ],
  ["MCP: data", () => readMcp({ isError: true, structuredContent: Array<string>(500_000).fill("abc") })],
  ["MCP: parts", () => readMcp({ content: Array.from({ length: 300_000 }, () => ({ type: "text", text: "a" })) })],
  [
    "MCP: an invalid image",
    () => readMcp({ content: [{ type: "image", mimeType: "image/png", data: `${fillText("A", MCP_BYTES)}!` }] }),
  ],
  ["JWT: dots", () => verifyJwt(fillText(".", 16_000))],
  ["JWT: a long header", () => verifyJwt(`${fillText("e", 16_000)}.a.b`)],
  ["cookies: share links", () => readCookies(requestWith("cookie", fillText("loom-share-a=;", 16_000)))],
  ["cookies: spaces", () => readCookies(requestWith("cookie", fillText(" ", 16_000)))],
  ["media types: ranges", () => chooseMediaType(fillText("a/b;q=1,", 16_000), JSON_ONLY)],
  ["media types: parameters", () => chooseMediaType(`a/b${fillText(";", 16_000)}`, JSON_ONLY)],
  [
    "media types: one of a page",
    () => decodePage(Buffer.from("a"), `application/${fillText("+", 16_000)}`).catch(() => ""),
  ],
  ["SVG: spaces", () => findSvgFault(`<svg fill="${fillText(" ", 190_000)}!"/>`)],
  ["SVG: transforms", () => findSvgFault(`<svg transform="${fillText("scale(", 190_000)}"/>`)],
  ...Object.entries(DECODERS).flatMap(([name, { createDecoder }]) =>
    FRAMES.map(([kind, frame]) => [`dialect ${name}: ${kind}`, () => createDecoder().decode(frame)] as const),
  ),
  ...(["\n", "\r", "a\n", "data\n", ":\n", " ", "\u00ff"] as const).flatMap((unit) => [
    [`NDJSON: single bytes of ${JSON.stringify(unit)}`, () => pushBytes(createNdjsonDecoder(), unit)] as const,
    [`SSE: single bytes of ${JSON.stringify(unit)}`, () => pushBytes(createSseDecoder(), unit)] as const,
  ]),
  ["search words: marks", () => listWords("e\u0301".repeat(40_000))],
  ["NDJSON: blank lines", () => createNdjsonDecoder().push(fill("\n", 65_536))],
  ["SSE: empty data lines", () => createSseDecoder().push(fill("data\n", 65_536))],
];

/** Ingests a body that has arrived completely. It may be refused. */
async function ingestText(text: string, framing: Framing = "ndjson"): Promise<void> {
  const bytes = Buffer.from(`{"type":"run_start"}\n${text}`);
  const chunks = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, at) =>
    bytes.subarray(at * 65_536, (at + 1) * 65_536),
  );
  const log = new MemoryLog();
  const { signal } = new AbortController();
  const limits = { maxBytes: Infinity, maxFrameBytes: 1e6, idleMs: Infinity };
  const dialect = DIALECTS.loom;
  await nextTurn();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  await ingestStream({ log, sessionId: "s", body, signal, dialect, framing, ...limits }).catch(() => undefined);
}

async function readWhole(unit: string, format: "text" | "markdown" | "html", start = ""): Promise<void> {
  const bytes = Buffer.alloc(WORST_SAMPLES.documentBytes, unit);
  bytes.write(start);
  // Creating the input is not part of the measured turn.
  await nextTurn();
  await indexDocument(await readText(await decodeText(bytes), format, "worst"), resolveLimits({}));
}

/** Reads a file that is not UTF-8. It may be refused. */
async function decodeBytes(...unit: readonly number[]): Promise<void> {
  const bytes = Buffer.alloc(WORST_SAMPLES.documentBytes, Buffer.from(unit));
  await nextTurn();
  await decodeText(bytes).catch(() => undefined);
}

async function readPdf(start: string, unit: string): Promise<void> {
  const bytes = Buffer.alloc(200_000, unit);
  bytes.write(start);
  const reader = new PdfReader(resolveLimits({}));
  await nextTurn();
  await reader.read(bytes, undefined).catch(() => undefined);
  await reader.close();
}

/** Searches a file that is just below the limit of `search_files`. */
async function searchFile(line: string, query: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "loom-worst-"));
  try {
    writeFileSync(join(folder, "file.txt"), line.repeat((1024 * 1024) / line.length));
    await nextTurn();
    await callFileTool(folder, "search_files", { query });
    await callFileTool(folder, "read_file", { path: "file.txt", line: 100_000 });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function callFileTool(folder: string, name: string, input: JsonObject): Promise<void> {
  const tool = createFileTools(folder).find((each) => each.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  await runToolCall(callOf(input, name), createToolbox([tool]), createToolRecorder());
}

function readSteps(text: string): void {
  const limits = { max: 10, maxCharacters: 4000, maxBytes: 8000 };
  const content = [{ type: "text", text }] as const;
  readProposals({ content, calls: [], result: { finishReason: "length" } }, limits);
  readSample({ content, calls: [] }, limits);
}

function writePlan(needs: string, edge = ""): string {
  const edges = fillText(`${edge},`, edge.length > 100 ? edge.length + 1 : 800_000);
  return `{"nodes":[{"id":"a","task":"t"},{"id":"b","task":"t","needs":"${needs}"}],"edges":[${edges}${edge || "[]"}]}`;
}

function readPartial(text: string, size: number): void {
  const parser = new PartialJson();
  for (let at = 0; at < text.length; at += size) {
    parser.push(text.slice(at, at + size));
    void parser.value;
  }
}

async function fetchPage(unit: string): Promise<void> {
  const bytes = Buffer.alloc(WORST_SAMPLES.pageBytes, unit);
  await nextTurn();
  await decodePage(bytes, "text/html");
}

function readMcp(answer: JsonObject): void {
  readMcpResult(answer, { maxImageCharacters: 512 * 1024 }, (text) => text.replaceAll("secret", "*"));
}

async function verifyJwt(jwt: string): Promise<void> {
  const verify = createJwtVerifier({ jwks: { keys: [] }, issuer: "https://issuer.example", audience: "loom" });
  await verify(jwt).catch(() => undefined);
}

function requestWith(name: string, value: string): Parameters<typeof readCookies>[0] {
  const headers = new Headers({ [name]: value, "sec-fetch-site": "same-origin" });
  return { headers, origin: "http://127.0.0.1", method: "GET" };
}

function pushBytes(decoder: FrameDecoder, unit: string): void {
  const bytes = Buffer.from(fillText(unit, 32_768), "latin1");
  for (let at = 0; at < bytes.length; at++) decoder.push(bytes.subarray(at, at + 1));
}

function fill(unit: string, bytes: number): Uint8Array {
  return new TextEncoder().encode(unit.repeat(bytes / unit.length));
}

/** Returns the CPU time of the longest turn of the event loop, in milliseconds. */
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

const UNIT_LINES = Array.from({ length: 4000 }, (_, at) => `- item ${at}: {"a":[${at},"b"]}`);

/** Returns the CPU time that a fixed piece of work takes at the moment, in milliseconds: the median of several. */
function measureUnit(): number {
  const times = Array.from({ length: 9 }, () => {
    const before = process.threadCpuUsage();
    for (const line of UNIT_LINES) {
      const [, start = 0] = /^[-*]\s+\w+ (\d+)/u.exec(line) ?? [];
      JSON.parse(line.slice(line.indexOf("{"))) as unknown;
      line.replaceAll(/[^\p{L}\p{N}]/gu, String(start));
    }
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  });
  return times.toSorted((one, other) => one - other)[4] ?? 0;
}

let unit = 0;
beforeAll(() => {
  measureUnit();
  unit = measureUnit();
});

/** The parser. */
const kindOf = ([name]: (typeof CASES)[number]): string => name.split(":")[0] ?? "";

it.each(sampleCases(CASES, { kindOf }))(
  "keeps each turn of the event loop short: %s",
  { timeout: 120_000 },
  async (_, run) => {
    let shortest = Infinity;
    for (let attempt = 0; attempt < ATTEMPTS && shortest > MAX_TURN; attempt++) {
      const longestTurn = await measureLongestTurn(run);
      // The machine may be slower now.
      if (longestTurn > MAX_TURN * unit) unit = measureUnit();
      shortest = Math.min(shortest, longestTurn / unit);
    }
    expect(shortest).toBeLessThanOrEqual(MAX_TURN);
  },
);
