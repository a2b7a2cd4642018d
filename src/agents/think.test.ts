// A model call is in the log before it is made: after a crash, no unrecorded call was paid for, and finished work is
// not requested again.
import { expect, it } from "vitest";
import { z } from "zod";
import { createFaultyLog, readRecords } from "../../test/contracts/sender.ts";
import { eventsOf, SESSION, createAgentFixture } from "../../test/agents/agent-fixture.ts";
import type { ScriptedTurn } from "../models/scripted-model.ts";
import { createBuiltinTools } from "../tools/builtin-tools.ts";
import { defineTool } from "../tools/define-tool.ts";

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("calls the model only after its prompt is durable", async () => {
  const log = await createFaultyLog();
  const fixture = await createAgentFixture(
    [{ calls: [{ name: "add", input: { a: 1, b: 2 }, id: "c1" }] }, { text: "3" }],
    { log },
  );
  const seen: number[] = [];
  log.onAppend = async (_, next) => {
    // The delay does not matter.
    for (let turn = 0; turn < 5; turn++) await tick();
    seen.push(fixture.model.requests.length);
    const done = await next();
    const starts = eventsOf(await readRecords(log, SESSION), "llm_start").length;
    expect(fixture.model.requests.length).toBeLessThanOrEqual(starts);
    return done;
  };
  const run = await fixture.ask("1 + 2?");
  expect(await run.ended).toMatchObject({ status: "completed" });
  expect(fixture.model.requests).toHaveLength(2);
  // Some appends came before the first call, and some between the two.
  expect(new Set(seen)).toEqual(new Set([0, 1, 2]));
  await fixture.read();
});

it("retries without files that the provider rejects, and stays without them", async () => {
  const refused: ScriptedTurn = {
    fault: {
      kind: "throw",
      error: Object.assign(new Error("no images here"), { statusCode: 400, isRetryable: false }),
    },
  };
  const add: ScriptedTurn = { calls: [{ name: "add", input: { a: 1, b: 2 } }] };
  const blobs = { read: async () => new Uint8Array([1]) };
  const fixture = await createAgentFixture([refused, add, { text: "A cat." }, { text: "Again." }], { blobs });
  const attachments = [{ blob_id: "b", media_type: "image/png", bytes: 1 }];
  const run = await fixture.session.startRun({ message: "What is it?", attachments });
  await fixture.agent.executeRun(fixture.log, run);
  expect(await run.ended).toMatchObject({ status: "completed" });
  const seen = fixture.model.requests.map(({ prompt }) => {
    const parts = prompt.flatMap(({ role, content }) => (role === "user" ? content : []));
    return parts.map((part) => (part.type === "text" ? /which (.*)\.\]/.exec(part.text)?.[1] : part.type));
  });
  const named = [undefined, "was omitted because your provider rejected it"];
  expect(seen).toEqual([[undefined, "file"], named, named]);
  const ids = eventsOf(await fixture.read(), "llm_start").map(({ llm_call_id }) => llm_call_id);
  expect(new Set(ids).size).toBe(3);
});

it("describes a call for users, except for tools that the model made up", async () => {
  const input = z.object({});
  const execute = (): string => "done";
  const tools = [
    defineTool({ name: "add", description: "Adds two numbers. Call it for every sum.", input, execute }),
    defineTool({ name: "display_table", title: "展示表格数据", description: "Shows a table.", input, execute }),
    defineTool({ name: "silent", description: "", input, execute }),
  ];
  const calls = ["add", "display_table", "silent", "made_up"].map((name) => ({ name, input: {}, id: name }));
  const fixture = await createAgentFixture([{ calls }, { text: "Done." }], { tools });
  expect(await (await fixture.ask("Go on.")).ended).toMatchObject({ status: "completed" });
  const said = eventsOf(await fixture.read(), "tool_call").map(({ name, description }) => [name, description]);
  expect(said).toEqual([
    ["add", "Adds two numbers."],
    ["display_table", "展示表格数据"],
    ["silent", undefined],
    ["made_up", undefined],
  ]);
  // The model receives the full description as before.
  expect(fixture.model.requests[0]?.tools).toMatchObject([
    { name: "add", description: "Adds two numbers. Call it for every sum." },
    { name: "display_table", description: "Shows a table." },
    { name: "silent" },
  ]);
  expect(JSON.stringify(fixture.model.requests)).not.toContain("展示");
});

it.each([
  ["现在几点？", "获取当前时间"],
  ["What time is it?", "Get the current time"],
])("describes a call in the language of %j", async (question, description) => {
  const fixture = await createAgentFixture(
    [{ calls: [{ name: "current_time", input: {}, id: "c" }] }, { text: "Done." }],
    { tools: createBuiltinTools() },
  );
  await (
    await fixture.ask(question)
  ).ended;
  expect(eventsOf(await fixture.read(), "tool_call")).toMatchObject([{ description }]);
});

it("has a description in both languages for every bundled tool", () => {
  for (const { name, title } of createBuiltinTools({ workspace: import.meta.dirname, fetch: true })) {
    const { en, zh } = title as { readonly en: string; readonly zh: string };
    expect([typeof en, zh], name).toEqual(["string", expect.stringMatching(/\p{Script=Han}/u)]);
  }
});
