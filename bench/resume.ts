/**
 * Resume benchmark: processor time and records read for a resume near the end of a long run, in each dialect, with
 * encoder snapshots and without. `--quick` makes the run a tenth as long. Then the bytes that AI SDK clients receive when
 * they resume in the middle of a 10,000-token answer.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent } from "../src/agents/index.ts";
import { createEntry } from "../src/log/entry.ts";
import { describeHolder } from "../src/log/holder.ts";
import { type Log, MemoryLog, openSqliteLog, openStream, type StreamOptions } from "../src/log/index.ts";
import { ScriptedModel } from "../src/models/testing.ts";
import type { AnyEvent } from "../src/protocol/index.ts";
import { startLoomServer } from "../src/server/loom-server.ts";
import { print } from "./measure.ts";

const RECORDS = process.argv.includes("--quick") ? 30_000 : 300_000;
const BATCH = 5000;

type Form = Pick<StreamOptions, "dialect" | "encoderOptions" | "modes">;

const FORMS: readonly (readonly [string, Form])[] = [
  ["engine", { dialect: "engine" }],
  ["lumine", { dialect: "lumine" }],
  ["stream-event", { dialect: "stream-event" }],
  ["loom strict", { dialect: "loom", encoderOptions: { strict: true } }],
  ["loom all", { dialect: "loom", modes: "all" }],
  ["loom tools", { dialect: "loom", modes: ["tools"] }],
  ["ai-sdk", { dialect: "ai-sdk" }],
  ["export", { dialect: "export" }],
  ["export strict", { dialect: "export", encoderOptions: { strict: true } }],
];

const folder = mkdtempSync(join(tmpdir(), "loom-bench-"));
const path = join(folder, "loom.db");

async function writeRun(log: Log): Promise<void> {
  const { epoch } = await log.acquire("s", { holder: describeHolder(), ttlMs: 3_600_000 });
  const chunk: AnyEvent = { type: "message_chunk", content: "word ", id: "think" };
  for (let at = 0; at < RECORDS; at += BATCH) {
    const entries = Array.from({ length: BATCH }, (_, index) => {
      const event_id = at + index + 1;
      const envelope = { session_id: "s", run_id: "r", node_id: "n", event_id, ts: 1.7e12 + event_id };
      return createEntry({ envelope, event: event_id === 1 ? { type: "run_start", run_id: "r" } : chunk });
    });
    await log.append({ sessionId: "s", epoch, expectedLastId: at, entries });
  }
}

async function readAll(log: Log, options: StreamOptions): Promise<number> {
  let bytes = 0;
  for await (const frames of openStream(log, "s", options)) for (const { text } of frames) bytes += text.length;
  return bytes;
}

/** Returns the processor time in milliseconds, and the bytes sent. */
async function measure(log: Log, form: Form): Promise<readonly [number, number]> {
  const before = process.cpuUsage();
  const bytes = await readAll(log, { ...form, after: RECORDS - 3 });
  const { user, system } = process.cpuUsage(before);
  return [(user + system) / 1000, bytes];
}

const writer = await openSqliteLog(path);
await writeRun(writer);
await writer.close();
print(`resume 3 records before the end of a run of ${RECORDS} records`);
for (const [name, form] of FORMS) {
  const without = await openSqliteLog(path, { limits: { snapshotRecords: Number.MAX_SAFE_INTEGER } });
  const [slow, bytes] = await measure(without, form);
  await without.close();
  const log = await openSqliteLog(path);
  await readAll(log, form);
  const times: number[] = [];
  for (let turn = 0; turn < 9; turn++) times.push((await measure(log, form))[0]);
  await log.close();
  const fast = times.toSorted((a, b) => a - b)[4] ?? Number.NaN;
  print(
    `${name.padEnd(14)} ${String(bytes).padStart(5)} bytes: ${slow.toFixed(0).padStart(5)} ms before, ` +
      `${fast.toFixed(1).padStart(6)} ms with snapshots`,
  );
}
rmSync(folder, { recursive: true, force: true });

const TOKENS = 10_000;
const model = new ScriptedModel([{ text: "word ".repeat(TOKENS) }], { chunk: 5 });
const server = await startLoomServer({ log: new MemoryLog(), agents: { main: agent({ model }) }, port: 0 });
const api = `${server.url}/api/chat`;
const messages = [{ id: "u1", role: "user", parts: [{ type: "text", text: "Talk" }] }];
const headers = { "content-type": "application/json" };
const answer = await fetch(api, { method: "POST", headers, body: JSON.stringify({ id: "c", messages }) });
const stream = `${api}/${answer.headers.get("x-workflow-run-id") ?? ""}/stream`;
const body = await answer.text();
const frames = body.split("\n\n");
const cursor = /^id: (.*)$/m.exec(frames[TOKENS / 2] ?? "")?.[1] ?? "";
const sizeOf = async (response: Response): Promise<number> => (await response.arrayBuffer()).byteLength;
const byChat = await sizeOf(await fetch(`${api}/c/stream`));
const byCursor = await sizeOf(await fetch(stream, { headers: { "last-event-id": cursor } }));
print(`AI SDK: resume in the middle of a message of ${TOKENS} tokens, ${body.length} bytes`);
print(`DefaultChatTransport ${String(byChat).padStart(8)} bytes: ${(byChat / body.length).toFixed(2)} messages`);
print(`LoomChatTransport    ${String(byCursor).padStart(8)} bytes: ${(byCursor / body.length).toFixed(2)} messages`);
await server.close({ graceMs: 0 });
