import { expect, test } from "vitest";
import { createAgentFixture, eventsOf } from "../../test/agents/agent-fixture.ts";
import { exportSession, forkBeforeRun, importSession, type Log, MemoryLog, openStream } from "../log/index.ts";
import { listModelCalls, readContent, readModelCall } from "../log/model-content.ts";
import { readPages } from "../log/read-pages.ts";
import type { LanguageModel, ModelMessage } from "../models/model.ts";
import { ScriptedModel } from "../models/testing.ts";
import { DIALECT_NAMES } from "../dialects/index.ts";
import { loom } from "../dialects/loom/index.ts";
import { type StampedRecord, Verifier } from "../protocol/index.ts";
import type { LlmContentEvent } from "../protocol/events.generated.ts";
import { defineTool } from "../tools/define-tool.ts";
import { z } from "zod";
import { agent } from "./agent.ts";
import { ContentRecorder } from "./content-recorder.ts";

const SECRET = "The system prompt that only the owner may read, and that is longer than a short text.";
const look = defineTool({
  name: "look",
  description: "Looks something up",
  input: z.object({ page: z.number() }),
  execute: ({ page }) => `Page ${page}: ${"words ".repeat(60)}`,
});

/** Asks `turns` questions; each is answered after a tool call. */
async function converse(log: Log, turns: number, createModel = createScript) {
  const model = createModel(turns);
  for (let turn = 0; turn < turns; turn++) {
    // A new agent for each turn, as after a restart: nothing is in memory.
    await using helper = agent({ model, log, tools: [look], systemInstructions: SECRET, recordPrompts: true });
    await helper.run(`Question ${turn} ${"about something ".repeat(20)}`, { sessionId: "s" });
  }
  const info = await log.getSession("s");
  const records: StampedRecord[] = [];
  if (info !== undefined) for await (const page of readPages(log, info, 0)) records.push(...page.records);
  return { model, records };
}

const createScript = (turns: number) =>
  new ScriptedModel(
    Array.from({ length: turns }, (_, turn) => [
      { text: "Let me look. ", calls: [{ name: "look", input: { page: turn }, id: `call-${turn}` }] },
      { text: `The answer to question ${turn} is in the page. ${"It says much. ".repeat(20)}` },
    ]).flat(),
  );

test("restores the exact prompt, tools and response of every call", async () => {
  const log = new MemoryLog();
  const { model } = await converse(log, 4);
  let index = 0;
  for (const { runId } of (await log.listRuns("s")).toReversed()) {
    const calls = await listModelCalls(log, "s", runId);
    expect(calls).toHaveLength(2);
    for (const { callId } of calls) {
      const { messages, tools, parameters, response } = await readModelCall(log, "s", runId, callId);
      expect(messages).toEqual(model.prompts[index]);
      expect(messages[0]).toEqual({ role: "system", content: SECRET });
      expect(tools).toMatchObject([{ name: "look", description: "Looks something up" }]);
      expect(parameters).toMatchObject({ provider: "scripted", model: "scripted" });
      expect(response).toMatchObject({ role: "assistant" });
      index++;
    }
  }
  expect(index).toBe(8);
});

test("the bytes of a call do not grow with the conversation", async () => {
  const { records } = await converse(new MemoryLog(), 12);
  const sizes = records.flatMap(({ event }) => (event.type === "llm_content" ? [JSON.stringify(event).length] : []));
  const ofTurn = sizes.length / 12;
  const sum = (turn: number): number => sizes.slice(turn * ofTurn, (turn + 1) * ofTurn).reduce((a, b) => a + b, 0);
  // Numbers of records get longer by a digit.
  expect(sum(11)).toBeLessThan(sum(2) * 1.1);
  expect(sum(11)).toBeLessThan(4000);
});

test("no stream of any dialect or mode contains it, and streams stay complete", async () => {
  const log = new MemoryLog();
  const { records } = await converse(log, 2);
  expect(eventsOf(records, "llm_content").length).toBeGreaterThan(4);
  for (const dialect of DIALECT_NAMES)
    for (const modes of [undefined, "all", ["messages", "tools", "nodes"]] as const)
      for (const strict of [false, true]) {
        if (strict && dialect !== "loom" && dialect !== "export") continue;
        let text = "";
        for await (const frames of openStream(log, "s", { dialect, modes, encoderOptions: { strict } }))
          text += frames.map((frame) => frame.text).join("\n");
        expect(text, dialect).not.toContain("llm_content");
        expect(text, dialect).not.toContain("only the owner");
        expect(text.length).toBeGreaterThan(100);
      }
});

test("another owner receives a fork and an export without it, and the own fork has it", async () => {
  const log = new MemoryLog();
  const { model } = await converse(log, 2);
  const [second, first] = await log.listRuns("s");
  const [call] = await listModelCalls(log, "s", first?.runId ?? "");
  const read = (session: string) => readModelCall(log, session, first?.runId ?? "", call?.callId ?? "");
  await forkBeforeRun(log, { from: "s", to: "own", runId: second?.runId ?? "" });
  expect((await read("own")).messages).toEqual(model.prompts[0]);
  await forkBeforeRun(log, { from: "s", to: "other", runId: second?.runId ?? "", owner: "bob" });
  expect(await read("other")).toMatchObject({ messages: [], requestId: undefined, responseId: undefined });
  const text = async (isForOwner: boolean) => {
    let all = "";
    for await (const lines of exportSession(log, "s", { isForOwner })) all += lines;
    return all;
  };
  expect(await text(false)).not.toContain("only the owner");
  expect(await text(true)).toContain("only the owner");
  const copy = new MemoryLog();
  const source = text(false);
  await importSession(
    copy,
    (async function* () {
      yield await source;
    })(),
  );
  expect((await copy.getSession("s"))?.lastId).toBe((await log.getSession("s"))?.lastId);
});

test("nothing is stored without the option", async () => {
  const fixture = await createAgentFixture([{ text: "Hello." }]);
  await (
    await fixture.ask("Hi")
  ).ended;
  expect(eventsOf(await fixture.read(), "llm_content")).toEqual([]);
});

/** Records into a list and into a log. */
function createRecorder(options?: { readonly maxBytes: number }) {
  const recorder = new ContentRecorder(options);
  const events: LlmContentEvent[] = [];
  const post = (event: LlmContentEvent) => ({ lastId: events.push(event) });
  const model = { provider: "p", modelId: "m", specificationVersion: "v3" } as LanguageModel;
  const request = (...texts: readonly string[]) =>
    recorder.request(post, "c", model, {
      messages: texts.map((text): ModelMessage => ({ role: "user", content: [{ type: "text", text }] })),
    });
  return { recorder, events, request };
}

const LONG = "x".repeat(200);

test("refers to kept messages after a summary replaced others", () => {
  const { events, request } = createRecorder();
  request(`${LONG}1`, `${LONG}2`, `${LONG}3`, `${LONG}4`);
  request(`${LONG}summary`, `${LONG}3`, `${LONG}4`, `${LONG}5`);
  expect(events[1]?.parts).toMatchObject([
    { event_id: 1, start: 0, count: 2 },
    { value: { content: [{ text: `${LONG}summary` }] } },
    { event_id: 1, start: 4, count: 2 },
    { value: { content: [{ text: `${LONG}5` }] } },
  ]);
});

test("repeated messages stay one reference", () => {
  const { events, request } = createRecorder();
  const said: string[] = [];
  for (let turn = 0; turn < 30; turn++) {
    said.push(`${LONG}yes`, `${LONG}answer ${turn}`);
    request(...said);
  }
  expect(events.at(-1)?.parts.length).toBeLessThanOrEqual(3);
});

test("splits what is too long for one record, and leaves out what exceeds the limit", async () => {
  const { events, request } = createRecorder({ maxBytes: 700_000 });
  const texts = [...["a", "b", "c", "d", "e"].map((letter) => letter.repeat(150_000)), "f".repeat(300_000)];
  request(...texts);
  expect(events.map(({ is_partial: isPartial }) => isPartial)).toEqual([true, true, true, undefined]);
  for (const event of events) expect(JSON.stringify(event).length).toBeLessThan(270_000);
  const omitted = JSON.stringify(events).match(/\$omitted/g);
  expect(omitted).toHaveLength(2);
  // The next call stores what fits, and refers to the size of what is too long for a record.
  const last = events.length;
  request(...texts);
  expect(events.slice(last).map(({ parts }) => parts.filter(({ value }) => value !== undefined))).toEqual([
    [{ value: { role: "user", content: [{ type: "text", text: texts[4] }] } }],
  ]);
});

test("a session that was pruned has no lost references", async () => {
  const log = new MemoryLog();
  const model = createScript(3);
  await using helper = agent({ model, log, tools: [look], systemInstructions: SECRET, recordPrompts: true });
  for (const turn of [0, 1, 2]) {
    if (turn === 2) await log.prune({ maxAgeMs: 0 });
    await helper.run(`Question ${turn}`, { sessionId: "s" });
  }
  expect((await log.getSession("s"))?.firstId).toBeGreaterThan(1);
  const [run] = await log.listRuns("s");
  for (const { requestId = 0 } of await listModelCalls(log, "s", run?.runId ?? ""))
    expect(await readContent(log, "s", requestId)).not.toContain(undefined);
});

test("the prompts of kept runs stay exact when earlier runs are pruned", async () => {
  const log = new MemoryLog();
  const { model } = await converse(log, 4);
  const { bytes = 0 } = (await log.getSession("s")) ?? {};
  for (const kept of [3, 2, 1]) {
    for (let most = bytes; (await log.listRuns("s")).length > kept; most -= 500)
      await log.prune({ maxSessionBytes: most });
    const calls = [];
    for (const { runId } of (await log.listRuns("s")).toReversed())
      for (const { callId } of await listModelCalls(log, "s", runId))
        calls.push(await readModelCall(log, "s", runId, callId));
    expect(calls.map(({ messages }) => messages)).toEqual(model.prompts.slice(-2 * kept));
    for (const { tools, parameters } of calls) {
      expect(tools).toMatchObject([{ name: "look" }]);
      expect(parameters).toMatchObject({ provider: "scripted" });
    }
    // An export begins with what the prompts refer to; as a stream, it has only the kept runs.
    const decoder = loom.createDecoder();
    const verifier = new Verifier();
    for await (const lines of exportSession(log, "s"))
      for (const line of lines.trim().split("\n"))
        for (const record of decoder.decode(line).records) expect(verifier.check(record)).toEqual([]);
    expect(verifier.totals).toMatchObject({ runs: kept });
  }
});
