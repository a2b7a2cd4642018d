// Compression as an agent does it: what the model is sent changes, the log does not; and what was summarised once is used
// again, by the next turn, by another process, and after a crash.
import { describe, expect, it } from "vitest";
import { cutLog } from "../../test/agents/cut-log.ts";
import { findRuleBreak } from "../../test/agents/find-rule-break.ts";
import { answerOf, eventsOf, SESSION, setStage, type Stage } from "../../test/agents/stage.ts";
import { readRecords } from "../engine/sender.contract.ts";
import { MemoryLog } from "../log/index.ts";
import type { ModelMessage } from "../models/model.ts";
import type { ScriptedRequest, ScriptedTurn } from "../models/scripted-model.ts";
import { ScriptedModel } from "../models/testing.ts";
import { z } from "zod";
import { defineTool } from "../tools/define-tool.ts";
import { agent } from "./agent.ts";
import { Conversation } from "./conversation.ts";
import { readPrompt } from "./tot/tree-script.contract.ts";

const WINDOW = { contextWindow: 3000, keepTurns: 1 };
const LONG = "the warp and the weft are woven on the loom ";

const isSummary = ({ prompt }: ScriptedRequest): boolean => JSON.stringify(prompt[0]?.content).includes("You condense");
const textOf = (messages: readonly ModelMessage[] | undefined): string => JSON.stringify(messages);

function createNote() {
  return defineTool({
    name: "note",
    description: "Notes something.",
    input: z.object({ text: z.string() }),
    idempotent: true,
    execute: ({ text }) => `noted ${text}`,
  });
}

/** Works on a question in many rounds, and goes on from its prompt alone. */
function work(rounds: number) {
  let calls = 0;
  return (request: ScriptedRequest): ScriptedTurn => {
    if (isSummary(request)) return { text: `Summary: ${"so far all is well. ".repeat(3)}` };
    const last = request.prompt.at(-1);
    const done = last?.role === "tool" ? Number(/n(\d+)/.exec(textOf([last]))?.[1] ?? 0) : 0;
    if (done >= rounds) return { text: "All is done." };
    return {
      reasoning: `Round ${done}.`,
      text: LONG.repeat(24),
      calls: [{ name: "note", input: { text: `n${done + 1}` }, id: `c${done + 1}_${++calls}` }],
    };
  };
}

/** Answers everything at length. */
const talk = (request: ScriptedRequest): ScriptedTurn =>
  isSummary(request) ? { text: "They spoke of weaving." } : { text: LONG.repeat(12) };

function search(request: ScriptedRequest): ScriptedTurn {
  const { kind } = readPrompt(request);
  if (kind === "propose") return { text: "left\nright" };
  if (kind === "value") return { text: '{"score": 0.5, "solved": false}' };
  return { text: "That is all." };
}

const summaryCalls = ({ model }: Stage): number => model.requests.filter(isSummary).length;

async function askAll(stage: Stage, questions: readonly string[]): Promise<void> {
  for (const question of questions) await (await stage.ask(question)).ended;
}

const questions = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => `Question ${from + n}: ${LONG.repeat(6)}`);

describe("an agent with compression", () => {
  it("sends a summary of the oldest turns, and the log keeps everything", async () => {
    const stage = await setStage(talk, { compression: WINDOW, systemInstructions: "You weave.", tools: [] });
    await askAll(stage, questions(12));
    const records = await stage.read();
    const applied = eventsOf(records, "compression_applied");
    expect(applied.length).toBeGreaterThan(0);
    expect(applied.length).toBe(summaryCalls(stage));
    expect(applied.length).toBeLessThan(8);
    for (const { before_tokens, after_tokens } of applied) {
      expect(before_tokens).toBeGreaterThan(2400);
      expect(after_tokens).toBeLessThanOrEqual(1500);
    }
    // The calls that wrote them are told like any other, and are no rounds of the agent.
    const isAside = ({ purpose }: { readonly purpose?: string }): boolean => purpose === "summary";
    const [starts, ends] = [
      eventsOf(records, "llm_start").filter(isAside),
      eventsOf(records, "llm_end").filter(isAside),
    ];
    const ids = starts.map(({ llm_call_id }) => llm_call_id);
    expect(ids).toHaveLength(summaryCalls(stage));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids[0]).toMatch(/think.*\.summary\.1$/);
    expect(ends.map(({ llm_call_id }) => llm_call_id)).toEqual(ids);
    const paid = eventsOf(records, "usage").map(({ llm_call_id }) => llm_call_id);
    expect(paid.filter((id) => ids.includes(id ?? ""))).toEqual(ids);
    // Within the node run that asks the model, and before it is asked.
    const index = records.findIndex(({ event }) => event.type === "compression_applied");
    expect(records[index]?.envelope.node_id).toMatch(/think/);
    expect(records.slice(index).find(({ event }) => event.type.startsWith("llm_"))?.event.type).toBe("llm_start");
    for (const prompt of stage.model.prompts) expect(findRuleBreak(prompt)).toBeUndefined();
    const last = stage.model.prompts.at(-1);
    expect(last?.[0]).toEqual({ role: "system", content: "You weave." });
    expect(textOf(last?.slice(1, 2))).toContain("They spoke of weaving.");
    expect(textOf(last)).toContain("Question 11");
    expect(textOf(last)).not.toContain("Question 0");
    // What the next turn is given of the session, read anew, is all of it.
    const run = await stage.ask("And?");
    await run.ended;
    const whole = await new Conversation(stage.log, SESSION).readBefore(run.runId);
    expect(whole.length).toBe(24);
    expect(textOf(whole)).toContain("Question 0");
    expect(textOf(whole)).not.toContain("They spoke of weaving.");
  });

  it("summarises the rounds of a long turn, and keeps its question", async () => {
    const note = createNote();
    const stage = await setStage(work(14), { compression: WINDOW, tools: [note], maxIterations: 20 });
    const run = await stage.ask("Do it all.");
    expect((await run.ended).status).toBe("completed");
    const records = await stage.read();
    expect(answerOf(records)).toContain("All is done.");
    expect(eventsOf(records, "tool_end").length).toBe(14);
    const applied = eventsOf(records, "compression_applied");
    expect(applied.length).toBeGreaterThan(0);
    expect(summaryCalls(stage)).toBe(applied.length);
    for (const prompt of stage.model.prompts) expect(findRuleBreak(prompt)).toBeUndefined();
    const asked = stage.model.requests.filter((request) => !isSummary(request));
    for (const { prompt } of asked) expect(textOf(prompt)).toContain("Do it all.");
    // The next turn is made of the log, and knows the summary by what it stands for.
    const before = stage.model.requests.length;
    await (
      await stage.ask("Thanks.")
    ).ended;
    const first = stage.model.requests[before];
    expect(first === undefined || isSummary(first)).toBe(false);
    expect(textOf(first?.prompt)).toContain("so far all is well");
  });

  it("uses in another process what the first has summarised", async () => {
    const first = await setStage(talk, { compression: WINDOW, tools: [] });
    let turn = 0;
    while (summaryCalls(first) === 0) await askAll(first, questions(1, turn++));
    await first.session.close();
    const second = await setStage(talk, { compression: WINDOW, tools: [], log: first.log });
    await askAll(second, ["And now?"]);
    expect(summaryCalls(second)).toBe(0);
    expect(textOf(second.model.prompts[0])).toContain("They spoke of weaving.");
  });

  it("does not ask for a summary again after a crash", async () => {
    const note = createNote();
    const options = { compression: WINDOW, tools: [note], maxIterations: 20 };
    const whole = await setStage(work(14), options);
    await (
      await whole.ask("Do it all.")
    ).ended;
    const records = await readRecords(whole.log, SESSION);
    const summarised = records.findIndex(({ event }) => event.type === "compression_applied");
    // The summary is in the log, and the answer it was written for is not.
    const log = await cutLog(records.slice(0, summarised + 1));
    const again = await setStage(work(14), { ...options, log });
    await expect.poll(() => again.session.liveRun).toBeUndefined();
    expect(answerOf(await again.read())).toContain("All is done.");
    const asked = again.model.requests;
    expect(asked.length).toBeGreaterThan(0);
    expect(isSummary(asked[0] as ScriptedRequest)).toBe(false);
    expect(textOf(asked[0]?.prompt)).toContain("so far all is well");
    expect(summaryCalls(again)).toBe(summaryCalls(whole) - 1);
  });

  it("leaves turns out when no summary can be had, and answers", async () => {
    const script = (request: ScriptedRequest): ScriptedTurn =>
      isSummary(request) ? { fault: { kind: "throw", error: new Error("no") } } : talk(request);
    const stage = await setStage(script, { compression: WINDOW, tools: [] });
    await askAll(stage, questions(12));
    const records = await stage.read();
    expect(eventsOf(records, "error")).toMatchObject([{ code: "compression_failed", stage: "compression" }]);
    expect(eventsOf(records, "compression_applied")).toMatchObject([{ method: "drop" }]);
    expect(eventsOf(records, "run_end").every(({ status }) => status === "completed")).toBe(true);
    expect(textOf(stage.model.prompts.at(-1))).toContain("earlier messages are missing");
  });

  it("compresses the history of a search, and never what it asks", async () => {
    const chat = await setStage(talk, { tools: [] });
    await askAll(chat, questions(11));
    await chat.session.close();
    const stage = await setStage(
      (request) => (isSummary(request) ? { text: "They spoke of weaving." } : search(request)),
      {
        kind: "tot",
        tools: [],
        log: chat.log,
        compression: WINDOW,
        maxThoughts: 6,
      },
    );
    const ended = await (await stage.ask("Which way?")).ended;
    expect(ended.status).toBe("completed");
    const records = await stage.read();
    // Calls side by side use one summary.
    expect(summaryCalls(stage)).toBe(1);
    expect(eventsOf(records, "compression_applied").length).toBe(1);
    const asked = stage.model.prompts.slice(1);
    expect(asked.length).toBeGreaterThan(3);
    for (const prompt of asked) {
      expect(findRuleBreak(prompt)).toBeUndefined();
      expect(textOf(prompt.slice(0, 1))).toContain("They spoke of weaving.");
      expect(textOf(prompt.slice(-1))).toContain("Which way?");
    }
  });

  it("ends a run by name whose question alone is too long", async () => {
    const model = new ScriptedModel(talk, { modelId: "gpt-4o" });
    const stage = await setStage(talk, { model, compression: WINDOW, tools: [] });
    const ended = await (await stage.ask(LONG.repeat(800))).ended;
    expect(ended).toMatchObject({ status: "error", code: "prompt_too_large" });
  });

  it("lets a run be cancelled while it waits for a summary", async () => {
    const waits = Promise.withResolvers<"waits">();
    const script = (request: ScriptedRequest): ScriptedTurn => {
      if (!isSummary(request)) return talk(request);
      waits.resolve("waits");
      return { fault: { kind: "stall" } };
    };
    const stage = await setStage(script, { compression: WINDOW, tools: [] });
    for (let turn = 0; ; turn++) {
      const run = await stage.ask(questions(1, turn).join(""));
      if ((await Promise.race([run.ended, waits.promise])) !== "waits") continue;
      await run.cancel();
      expect((await run.ended).status).toBe("cancelled");
      break;
    }
    const records = await stage.read();
    expect(eventsOf(records, "compression_applied")).toEqual([]);
    const [begun] = eventsOf(records, "llm_start").filter(({ purpose }) => purpose === "summary");
    const ended = eventsOf(records, "llm_end").filter(({ llm_call_id }) => llm_call_id === begun?.llm_call_id);
    expect(ended).toHaveLength(1);
  });
});

describe("a session that was made anew under its old name", () => {
  const SECRET = "SECRET-OF-THE-OLD-SESSION";
  const keep = (request: ScriptedRequest): ScriptedTurn =>
    isSummary(request) ? { text: `${SECRET}.` } : { text: "Oak is fine for a loom. ".repeat(40) };
  const ask = (turn: number): string => `Question ${turn} ${"please tell ".repeat(20)}`;
  const options = { compression: { contextWindow: 2000 }, history: { maxRuns: 4 }, memory: { maxSessions: 1 } };
  // What the new session's own summaries say is the new session's.
  const create = () => {
    let isNew = false;
    const model = new ScriptedModel((request) => (isNew && isSummary(request) ? { text: "New." } : keep(request)));
    const begin = (): void => {
      expect(textOf(model.prompts.flat())).toContain(SECRET);
      isNew = true;
    };
    return { model, weaver: agent({ model, ...options }), begin };
  };

  it("has nothing of it, neither summary nor history, whatever its runs are called", async () => {
    const { model, weaver, begin } = create();
    const log = new MemoryLog();
    const first = await weaver.openSession(log, "chat");
    for (let turn = 1; turn <= 8; turn++) {
      const run = await weaver.answer(first, ask(turn), { runId: `r${turn}` });
      await run.ended;
    }
    await first.close();
    await log.deleteSession("chat");
    begin();
    const from = model.prompts.length;
    await using second = await weaver.openSession(log, "chat");
    for (let turn = 1; turn <= 8; turn++) {
      const run = await weaver.answer(second, `New ${turn}`, { runId: `r${turn}` });
      await run.ended;
    }
    expect(textOf(model.prompts.slice(from).flat())).not.toMatch(/SECRET|Question/);
  });

  it("has nothing of it where the agent has forgotten it", async () => {
    const { model, weaver, begin } = create();
    for (let turn = 1; turn <= 8; turn++) await weaver.run(ask(turn), { sessionId: "one" });
    await weaver.run("x", { sessionId: "two" });
    begin();
    const from = model.prompts.length;
    for (let turn = 1; turn <= 7; turn++) await weaver.run(`New ${turn}`, { sessionId: "one" });
    await weaver.close();
    expect(textOf(model.prompts.slice(from).flat())).not.toMatch(/SECRET|Question/);
  });
});
