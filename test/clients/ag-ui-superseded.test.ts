// A run whose attempt was interrupted and repeated: each stream of it has a snapshot that removes the messages of the
// interrupted attempt, with the same frames live, replayed and resumed after any of them.
import { join } from "node:path";
import { HttpAgent } from "@ag-ui/client";
import { expect, onTestFinished, test } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { createEntry } from "../../src/log/entry.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import type { StampedRecord } from "../../src/protocol/index.ts";
import { encodeRunReference } from "../../src/server/clients/ag-ui/find-run.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { readFrames, type ReadFrame } from "../server/read-frames.ts";
import { readVector, VECTORS } from "../vectors.ts";

const { records } = readVector(join(VECTORS, "runs", "agent-killed-mid-answer.json"));
const ENTRIES = (records.flat() as readonly StampedRecord[]).map(createEntry);
/** The record that repeats the interrupted node run. */
const REPEATED = ENTRIES.findIndex(({ text }) => text.includes('"supersedes"')) + 1;
const SESSION = "sess-agent";

/** A server with the records before the repeated attempt. */
async function startInterrupted() {
  const log = new MemoryLog();
  await log.createSession(SESSION);
  const { epoch } = await log.acquire(SESSION, { holder: "h", ttlMs: 600_000 });
  const append = (from: number, to: number) =>
    log.append({
      sessionId: SESSION,
      epoch,
      expectedLastId: from,
      entries: ENTRIES.slice(from, to),
    });
  await append(0, REPEATED - 1);
  const server = await startLoomServer({ log, agents: { main: agent({ model: new ScriptedModel([]) }) }, port: 0 });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const url = `${server.url}/ag-ui?runId=${encodeRunReference(SESSION, "run-1")}&threadId=t`;
  return {
    url,
    open: (after?: string) => fetch(url, after === undefined ? {} : { headers: { "last-event-id": after } }),
    finish: () => append(REPEATED - 1, ENTRIES.length),
  };
}

const typesOf = (frames: readonly ReadFrame[]): readonly unknown[] =>
  frames.map(({ text }) => (JSON.parse(text) as { type: unknown }).type);

test("sends the snapshot once, with the same frames live, replayed and resumed after any frame", async () => {
  const { open, finish } = await startInterrupted();
  const live = await open();
  await finish();
  const whole = await readFrames(live);
  const read = async (after?: string) => readFrames(await open(after));
  expect(await read()).toEqual(whole);
  const at = whole.findIndex(({ text }) => text.includes("loom.superseded"));
  expect(typesOf(whole.slice(at, at + 3))).toEqual(["CUSTOM", "MESSAGES_SNAPSHOT", "STEP_STARTED"]);
  // One for the client that joins, and one for the interrupted attempt.
  expect(typesOf(whole).filter((type) => type === "MESSAGES_SNAPSHOT")).toHaveLength(2);
  // The frame itself has no cursor: a client that does not have the snapshot receives both again.
  expect(whole[at]?.id).toBe(whole[at - 1]?.id);
  expect(whole[at + 1]?.id).not.toBe(whole[at]?.id);
  for (const after of new Set(whole.map(({ id }) => id))) {
    if (after === undefined || after === whole.at(-1)?.id) continue;
    const rest = (await read(after)).map(({ text, id = after }) => ({ text, id }));
    expect([after, rest]).toEqual([after, whole.slice(whole.findIndex(({ id }) => id === after) + 1)]);
  }
  const { messages } = JSON.parse(whole[at + 1]?.text ?? "") as {
    messages: readonly { role: string; content: string }[];
  };
  expect(messages.map(({ role, content }) => [role, content])).toEqual([
    ["user", "What is 1 + 2?"],
    ["assistant", "One moment. "],
    ["tool", "3"],
  ]);
});

test("a client that reads the whole stream has no message of the interrupted attempt", async () => {
  const { url, finish } = await startInterrupted();
  await finish();
  const client = new HttpAgent({ url, threadId: "t", fetch: () => fetch(url) });
  expect((await client.runAgent()).result).toBe("The sum of 1 and 2 is 3.");
  expect(client.messages.map(({ content }) => content)).toEqual([
    "What is 1 + 2?",
    "One moment. ",
    "3",
    "The sum of 1 and 2 is 3.",
  ]);
});
