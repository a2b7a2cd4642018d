// A call of the model is in the log before it is made: whoever is killed has paid for nothing that nobody knows of, and
// what the question was made of is not asked for again.
import { expect, it } from "vitest";
import { z } from "zod";
import { createFaultyLog, readRecords } from "../engine/sender.contract.ts";
import { eventsOf, SESSION, setStage } from "../../test/agents/stage.ts";
import type { ScriptedTurn } from "../models/scripted-model.ts";
import { defineTool } from "../tools/define-tool.ts";

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("asks the model when what it is asked about is durable, and not before", async () => {
  const log = await createFaultyLog();
  const stage = await setStage([{ calls: [{ name: "add", input: { a: 1, b: 2 }, id: "c1" }] }, { text: "3" }], { log });
  const seen: number[] = [];
  log.onAppend = async (_, next) => {
    // However long it takes.
    for (let turn = 0; turn < 5; turn++) await tick();
    seen.push(stage.model.requests.length);
    const done = await next();
    const starts = eventsOf(await readRecords(log, SESSION), "llm_start").length;
    expect(stage.model.requests.length).toBeLessThanOrEqual(starts);
    return done;
  };
  const run = await stage.ask("1 + 2?");
  expect(await run.ended).toMatchObject({ status: "completed" });
  expect(stage.model.requests).toHaveLength(2);
  // Some appends came while nobody had been asked, and some between the two.
  expect(new Set(seen)).toEqual(new Set([0, 1, 2]));
  await stage.read();
});

it("asks again without files that the provider refuses, and goes on without them", async () => {
  const refused: ScriptedTurn = {
    fault: {
      kind: "throw",
      error: Object.assign(new Error("no images here"), { statusCode: 400, isRetryable: false }),
    },
  };
  const add: ScriptedTurn = { calls: [{ name: "add", input: { a: 1, b: 2 } }] };
  const blobs = { read: async () => new Uint8Array([1]) };
  const stage = await setStage([refused, add, { text: "A cat." }, { text: "Again." }], { blobs });
  const attachments = [{ blob_id: "b", media_type: "image/png", bytes: 1 }];
  const run = await stage.session.startRun({ message: "What is it?", attachments });
  await stage.agent.carryOut(stage.log, run);
  expect(await run.ended).toMatchObject({ status: "completed" });
  const seen = stage.model.requests.map(({ prompt }) => {
    const parts = prompt.flatMap(({ role, content }) => (role === "user" ? content : []));
    return parts.map((part) => (part.type === "text" ? /which (.*)\.\]/.exec(part.text)?.[1] : part.type));
  });
  const named = [undefined, "was left out, since your provider has refused it"];
  expect(seen).toEqual([[undefined, "file"], named, named]);
  const ids = eventsOf(await stage.read(), "llm_start").map(({ llm_call_id }) => llm_call_id);
  expect(new Set(ids).size).toBe(3);
});

it("says what a call does in a few words for people, where the tool is none the model has made up", async () => {
  const input = z.object({});
  const execute = (): string => "done";
  const tools = [
    defineTool({ name: "add", description: "Adds two numbers. Call it for every sum.", input, execute }),
    defineTool({ name: "display_table", title: "展示表格数据", description: "Shows a table.", input, execute }),
    defineTool({ name: "silent", description: "", input, execute }),
  ];
  const calls = ["add", "display_table", "silent", "made_up"].map((name) => ({ name, input: {}, id: name }));
  const stage = await setStage([{ calls }, { text: "Done." }], { tools });
  expect(await (await stage.ask("Go on.")).ended).toMatchObject({ status: "completed" });
  const said = eventsOf(await stage.read(), "tool_call").map(({ name, description }) => [name, description]);
  expect(said).toEqual([
    ["add", "Adds two numbers."],
    ["display_table", "展示表格数据"],
    ["silent", undefined],
    ["made_up", undefined],
  ]);
  // The model is told what it was told before.
  expect(stage.model.requests[0]?.tools).toMatchObject([
    { name: "add", description: "Adds two numbers. Call it for every sum." },
    { name: "display_table", description: "Shows a table." },
    { name: "silent" },
  ]);
  expect(JSON.stringify(stage.model.requests)).not.toContain("展示");
});
