/**
 * Test fixture for MCP: a small server whose first argument selects a behaviour, and helpers to open and call servers.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { type JsonObject, LoomError } from "../../src/protocol/index.ts";
import type { ShownEvent, ToolContext, ToolCallResult } from "../../src/tools/tool.ts";
import { packageRoot } from "../source-files.ts";
import { type McpOptions, type McpServers, openServers } from "../../src/tools/mcp/open-mcp-servers.ts";
import type { McpServerConfig } from "../../src/tools/mcp/read-mcp-config.ts";

export const EVERYTHING = join(
  dirname(createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/package.json")),
  "dist/index.js",
);

/** A minimal server. Its first argument selects the behaviour, including faulty ones. */
const SERVER = String.raw`
const mode = process.argv[1];
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const tool = (name, more) => ({ name, inputSchema: { type: "object" }, ...more });
const text = (id, text) => send({ id, result: { content: [{ type: "text", text }] } });
process.stderr.write("pid " + process.pid + "\n");
if (mode === "exit") { process.stderr.write("no key found: " + process.env.TOKEN); process.exit(3); }
if (mode === "garbage") process.stdout.write("Starting up…\n{\"half\": \n\n[1,2]\n\u0000\u0001\n");
if (mode === "flood") process.stdout.write("noise\n".repeat(3000));
if (mode === "endless") setInterval(() => process.stdout.write("x".repeat(65536)), 0);
if (mode === "stubborn") { process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);
  const child = require("child_process").spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"], { stdio: "inherit" });
  process.stderr.write("grandchild " + child.pid + "\n"); }
const TOOLS = {
  thousand: Array.from({ length: 1000 }, (_, n) => tool("t" + n)),
  odd: [tool("a b"), tool("a.b"), tool("same"), tool("same"), tool("x".repeat(200)), tool("y".repeat(300)), tool(""), null, 7, "tool",
    { name: "no-schema" }, tool("list", { inputSchema: { type: "array" } }), tool("big", { inputSchema: { type: "object", description: "d".repeat(100000) } }),
    tool("words", { description: "w".repeat(10000) }), tool("reads", { title: "Read it", description: "Reads, and says so.", annotations: { readOnlyHint: true, title: "R" } }), tool("kind", { title: 7, annotations: { destructiveHint: false, title: "Be kind" } }),
    tool("later", { execution: { taskSupport: "required" } })],
};
const usual = [tool("say"), tool("die"), tool("hang"), tool("wait"), tool("parts"), tool("fail"), tool("progress"), tool("silent"), tool("told"), tool("stack"), tool("env"), tool("log")];
const tools = TOOLS[mode] ?? usual;
let buffer = "";
process.stdin.on("data", (chunk) => {
  buffer += chunk;
  for (let at = buffer.indexOf("\n"); at >= 0; at = buffer.indexOf("\n")) {
    const message = JSON.parse(buffer.slice(0, at));
    buffer = buffer.slice(at + 1);
    take(message);
  }
});
process.stdin.on("end", () => { if (mode !== "stubborn") process.exit(0); });
let isStuck = mode === "stuck";
function take({ id, method, params = {} }) {
  if (isStuck) return;
  if (mode === "garbage") process.stdout.write("got " + method + "\n");
  if (method === "initialize") return send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo: { name: "s", version: "1" } } });
  if (method === "ping") return send({ id, result: {} });
  if (method === "notifications/cancelled") return process.stderr.write("cancelled " + params.requestId + "\n");
  if (method === "tools/list") {
    if (mode === "no-list") return send({ id, error: { code: -32601, message: "Method not found" } });
    if (mode === "slow-list") return;
    if (mode === "circle") return send({ id, result: { tools: [tool("t" + Math.random())], nextCursor: "again" } });
    const from = Number(params.cursor ?? 0);
    const more = from + 100 < tools.length ? { nextCursor: String(from + 100) } : {};
    return send({ id, result: { tools: tools.slice(from, from + 100), ...more } });
  }
  if (method !== "tools/call") return;
  const token = params._meta?.progressToken;
  switch (params.name) {
    case "die": return process.exit(7);
    case "hang": isStuck = params.arguments.forever === true; return;
    case "wait": return process.stderr.write("waiting " + id + "\n");
    case "fail": return send({ id, error: { code: -32603, message: "the disk is on fire, says " + process.env.TOKEN } });
    case "silent": return send({ id, result: { content: [], isError: true } });
    case "told": return send({ id, result: { isError: true, structuredContent: { keys: [process.env.TOKEN] },
      content: [{ type: "text", text: "no such key: " + process.env.TOKEN + "\n    at check (/srv/key.js:1:2)\nsorry" }] } });
    case "stack": return send({ id, error: { code: -32603, message: "boom\n    at check (/srv/key.js:1:2)\n    at main" } });
    case "env": return text(id, JSON.stringify(process.env));
    case "parts": return send({ id, result: { isError: true, structuredContent: { a: [1] }, content: [
      { type: "text", text: "one" }, { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }, { type: "image", data: "no base64!", mimeType: "image/png" },
      { type: "image", data: "A".repeat(2000), mimeType: "image/png" }, { type: "image", data: "AAAA", mimeType: "text/html" }, { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "file:///a", text: "of a file" } }, { type: "resource", resource: { uri: "file:///b", blob: "AAAA" } },
      { type: "resource_link", uri: "file:///c", name: "c" }, { type: "text" }, null, 7, "x", {} ] } });
    case "log":
      send({ method: "notifications/message", params: { level: "info", logger: "disk", data: "key " + process.env.TOKEN } });
      for (let n = 0; n < 300; n++) send({ method: "notifications/message", params: { level: "warning", data: { n } } });
      return text(id, "logged");
    case "progress":
      for (let n = 0; n < 3000; n++) send({ method: "notifications/progress", params: { progressToken: token, progress: n, total: 1000, message: "step " + n } });
      send({ method: "notifications/progress", params: { progressToken: token, progress: -5 } });
      send({ method: "notifications/tools/list_changed" });
      send({ method: "notifications/unknown" });
      send({ id: 99, method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } });
      return text(id, "done");
    default: return text(id, "said " + JSON.stringify(params.arguments));
  }
}
`;

export function serve(
  mode: string,
  more: { readonly env?: { readonly [name: string]: string } } = {},
): McpServerConfig {
  return { command: process.execPath, args: ["-e", SERVER, mode], ...more };
}

export const MODULE_URL = pathToFileURL(join(packageRoot, "src", "tools", "mcp", "open-mcp-servers.ts")).href;

export async function runProgram(
  program: string,
): Promise<{ out: string; code: number | null; signal: string | null }> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  return new Promise((resolve) => {
    child.on("close", (code, signal) => resolve({ out, code, signal }));
  });
}

const opened: McpServers[] = [];

export async function closeAll(): Promise<void> {
  await Promise.all(opened.splice(0).map(async (one) => one.close()));
}

export async function open(
  servers: { [name: string]: McpServerConfig },
  options: McpOptions = {},
  limits: Parameters<typeof openServers>[2] = {},
): Promise<McpServers> {
  const made = await openServers({ mcpServers: servers }, options, { restartMs: 5, graceMs: 100, ...limits });
  opened.push(made);
  return made;
}

export interface RecordedOutput {
  readonly shown: ShownEvent[];
  readonly reports: [number, string | undefined][];
}

export async function call(
  { tools }: McpServers,
  name: string,
  input: JsonObject = {},
  { signal = new AbortController().signal, recorded }: { signal?: AbortSignal; recorded?: RecordedOutput } = {},
): Promise<ToolCallResult> {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`no ${name} in ${tools.map((each) => each.name).join(", ")}`);
  const context: ToolContext = {
    callId: "c1",
    sessionId: "s",
    runId: "r",
    signal,
    print: () => undefined,
    report: (progress, message) => recorded?.reports.push([progress, message]),
    show: (event) => recorded?.shown.push(event),
    ready: async () => undefined,
  };
  return tool.execute(input, context);
}

export async function failure(work: Promise<unknown>): Promise<LoomError> {
  const error = await work.then(
    () => new Error("it worked"),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof LoomError)) throw error;
  return error;
}

export function isAlive(pid: number): boolean {
  try {
    // A zombie process is still listed.
    return process.platform === "linux"
      ? !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
      : process.kill(pid, 0);
  } catch {
    return false;
  }
}

export async function until(isMet: () => boolean, ms = 5000): Promise<void> {
  const deadline = performance.now() + ms;
  while (!isMet() && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(isMet()).toBe(true);
}

export function findPid({ servers }: McpServers, word = "pid"): number {
  return Number(new RegExp(`${word} (\\d+)`).exec(servers[0]?.stderr ?? "")?.[1]);
}

export async function findPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
