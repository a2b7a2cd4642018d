// Compression by an agent: it changes what the model receives, not the log. A summary is used again by the next turn,
// by another process and after a crash.
import { describe, expect, it } from "vitest";
import { cutLog } from "../../test/agents/cut-log.ts";
import { findRuleViolation } from "../../test/agents/find-rule-violation.ts";
import { answerOf, eventsOf, SESSION, createAgentFixture, type AgentFixture } from "../../test/agents/agent-fixture.ts";
import { readRecords } from "../../test/contracts/sender.ts";
import { MemoryLog } from "../log/index.ts";
import type { ModelMessage } from "../models/model.ts";
import type { ScriptedRequest, ScriptedTurn } from "../models/scripted-model.ts";
import { ScriptedModel } from "../models/testing.ts";
import { z } from "zod";
import { defineTool } from "../tools/define-tool.ts";
import { agent } from "./agent.ts";
import { Conversation } from "./conversation.ts";
import { readPrompt } from "../../test/contracts/tree-script.ts";

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

/** Answers a question in many rounds, from its prompt alone. */
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

/** Gives long answers. */
const talk = (request: ScriptedRequest): ScriptedTurn =>
  isSummary(request) ? { text: "They spoke of weaving." } : { text: LONG.repeat(12) };

function search(request: ScriptedRequest): ScriptedTurn {
  const { kind } = readPrompt(request);
  if (kind === "propose") return { text: "left\nright" };
  if (kind === "value") return { text: '{"score": 0.5, "solved": false}' };
  return { text: "That is all." };
}

const summaryCalls = ({ model }: AgentFixture): number => model.requests.filter(isSummary).length;

async function askAll(fixture: AgentFixture, questions: readonly string[]): Promise<void> {
  for (const question of questions) await (await fixture.ask(question)).ended;
}

const questions = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => `Question ${from + n}: ${LONG.repeat(6)}`);

describe("an agent with compression", () => {
  it("sends a summary of the oldest turns and keeps everything in the log", async () => {
    const fixture = await createAgentFixture(talk, {
      compression: WINDOW,
      systemInstructions: "You weave.",
      tools: [],
    });
    await askAll(fixture, questions(12));
    const records = await fixture.read();
    const applied = eventsOf(records, "compression_applied");
    expect(applied.length).toBeGreaterThan(0);
    expect(applied.length).toBe(summaryCalls(fixture));
    expect(applied.length).toBeLessThan(8);
    for (const { before_tokens, after_tokens } of applied) {
      expect(before_tokens).toBeGreaterThan(2400);
      expect(after_tokens).toBeLessThanOrEqual(1500);
    }
    // Summary calls are recorded like any other, but are not rounds of the agent.
    const isAside = ({ purpose }: { readonly purpose?: string }): boolean => purpose === "summary";
    const [starts, ends] = [
      eventsOf(records, "llm_start").filter(isAside),
      eventsOf(records, "llm_end").filter(isAside),
    ];
    const ids = starts.map(({ llm_call_id }) => llm_call_id);
    expect(ids).toHaveLength(summaryCalls(fixture));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids[0]).toMatch(/think.*\.summary\.1$/);
    expect(ends.map(({ llm_call_id }) => llm_call_id)).toEqual(ids);
    const paid = eventsOf(records, "usage").map(({ llm_call_id }) => llm_call_id);
    expect(paid.filter((id) => ids.includes(id ?? ""))).toEqual(ids);
    // Within the node run of the model call, and before it.
    const index = records.findIndex(({ event }) => event.type === "compression_applied");
    expect(records[index]?.envelope.node_id).toMatch(/think/);
    expect(records.slice(index).find(({ event }) => event.type.startsWith("llm_"))?.event.type).toBe("llm_start");
    for (const prompt of fixture.model.prompts) expect(findRuleViolation(prompt)).toBeUndefined();
    const last = fixture.model.prompts.at(-1);
    expect(last?.[0]).toEqual({ role: "system", content: "You weave." });
    expect(textOf(last?.slice(1, 2))).toContain("They spoke of weaving.");
    expect(textOf(last)).toContain("Question 11");
    expect(textOf(last)).not.toContain("Question 0");
    // A conversation read from the log again has everything.
    const run = await fixture.ask("And?");
    await run.ended;
    const whole = await new Conversation(fixture.log, SESSION).readBefore(run.runId);
    expect(whole.length).toBe(24);
    expect(textOf(whole)).toContain("Question 0");
    expect(textOf(whole)).not.toContain("They spoke of weaving.");
  });

  it("summarizes the rounds of a long turn and keeps its question", async () => {
    const note = createNote();
    const fixture = await createAgentFixture(work(14), { compression: WINDOW, tools: [note], maxIterations: 20 });
    const run = await fixture.ask("Do it all.");
    expect((await run.ended).status).toBe("completed");
    const records = await fixture.read();
    expect(answerOf(records)).toContain("All is done.");
    expect(eventsOf(records, "tool_end").length).toBe(14);
    const applied = eventsOf(records, "compression_applied");
    expect(applied.length).toBeGreaterThan(0);
    expect(summaryCalls(fixture)).toBe(applied.length);
    for (const prompt of fixture.model.prompts) expect(findRuleViolation(prompt)).toBeUndefined();
    const asked = fixture.model.requests.filter((request) => !isSummary(request));
    for (const { prompt } of asked) expect(textOf(prompt)).toContain("Do it all.");
    // The next turn is built from the log and recognizes the summary by what it replaces.
    const before = fixture.model.requests.length;
    await (
      await fixture.ask("Thanks.")
    ).ended;
    const first = fixture.model.requests[before];
    expect(first === undefined || isSummary(first)).toBe(false);
    expect(textOf(first?.prompt)).toContain("so far all is well");
  });

  it("uses a summary of another process", async () => {
    const first = await createAgentFixture(talk, { compression: WINDOW, tools: [] });
    let turn = 0;
    while (summaryCalls(first) === 0) await askAll(first, questions(1, turn++));
    await first.session.close();
    const second = await createAgentFixture(talk, { compression: WINDOW, tools: [], log: first.log });
    await askAll(second, ["And now?"]);
    expect(summaryCalls(second)).toBe(0);
    expect(textOf(second.model.prompts[0])).toContain("They spoke of weaving.");
  });

  it("does not request a summary again after a crash", async () => {
    const note = createNote();
    const options = { compression: WINDOW, tools: [note], maxIterations: 20 };
    const whole = await createAgentFixture(work(14), options);
    await (
      await whole.ask("Do it all.")
    ).ended;
    const records = await readRecords(whole.log, SESSION);
    const summarised = records.findIndex(({ event }) => event.type === "compression_applied");
    // The log has the summary, but not the answer it was written for.
    const log = await cutLog(records.slice(0, summarised + 1));
    const again = await createAgentFixture(work(14), { ...options, log });
    await expect.poll(async () => answerOf(await again.read())).toContain("All is done.");
    const asked = again.model.requests;
    expect(asked.length).toBeGreaterThan(0);
    expect(isSummary(asked[0] as ScriptedRequest)).toBe(false);
    expect(textOf(asked[0]?.prompt)).toContain("so far all is well");
    expect(summaryCalls(again)).toBe(summaryCalls(whole) - 1);
  });

  it("leaves out turns if no summary is available, and answers", async () => {
    const script = (request: ScriptedRequest): ScriptedTurn =>
      isSummary(request) ? { fault: { kind: "throw", error: new Error("no") } } : talk(request);
    const fixture = await createAgentFixture(script, { compression: WINDOW, tools: [] });
    await askAll(fixture, questions(12));
    const records = await fixture.read();
    expect(eventsOf(records, "error")).toMatchObject([{ code: "compression_failed", stage: "compression" }]);
    expect(eventsOf(records, "compression_applied")).toMatchObject([{ method: "drop" }]);
    expect(eventsOf(records, "run_end").every(({ status }) => status === "completed")).toBe(true);
    expect(textOf(fixture.model.prompts.at(-1))).toContain("earlier messages are missing");
  });

  it("compresses the history of a search, but not its prompt", async () => {
    const chat = await createAgentFixture(talk, { tools: [] });
    await askAll(chat, questions(11));
    await chat.session.close();
    const fixture = await createAgentFixture(
      (request) => (isSummary(request) ? { text: "They spoke of weaving." } : search(request)),
      {
        kind: "tot",
        tools: [],
        log: chat.log,
        compression: WINDOW,
        maxThoughts: 6,
      },
    );
    const ended = await (await fixture.ask("Which way?")).ended;
    expect(ended.status).toBe("completed");
    const records = await fixture.read();
    // Parallel calls share one summary.
    expect(summaryCalls(fixture)).toBe(1);
    expect(eventsOf(records, "compression_applied").length).toBe(1);
    const asked = fixture.model.prompts.slice(1);
    expect(asked.length).toBeGreaterThan(3);
    for (const prompt of asked) {
      expect(findRuleViolation(prompt)).toBeUndefined();
      expect(textOf(prompt.slice(0, 1))).toContain("They spoke of weaving.");
      expect(textOf(prompt.slice(-1))).toContain("Which way?");
    }
  });

  it("ends a run with a code if its question alone is too long", async () => {
    const model = new ScriptedModel(talk, { modelId: "gpt-4o" });
    const fixture = await createAgentFixture(talk, { model, compression: WINDOW, tools: [] });
    const ended = await (await fixture.ask(LONG.repeat(800))).ended;
    expect(ended).toMatchObject({ status: "error", code: "prompt_too_large" });
  });

  it("can cancel a run that waits for a summary", async () => {
    const waits = Promise.withResolvers<"waits">();
    const script = (request: ScriptedRequest): ScriptedTurn => {
      if (!isSummary(request)) return talk(request);
      waits.resolve("waits");
      return { fault: { kind: "stall" } };
    };
    const fixture = await createAgentFixture(script, { compression: WINDOW, tools: [] });
    for (let turn = 0; ; turn++) {
      const run = await fixture.ask(questions(1, turn).join(""));
      if ((await Promise.race([run.ended, waits.promise])) !== "waits") continue;
      await run.cancel();
      expect((await run.ended).status).toBe("cancelled");
      break;
    }
    const records = await fixture.read();
    expect(eventsOf(records, "compression_applied")).toEqual([]);
    const [begun] = eventsOf(records, "llm_start").filter(({ purpose }) => purpose === "summary");
    const ended = eventsOf(records, "llm_end").filter(({ llm_call_id }) => llm_call_id === begun?.llm_call_id);
    expect(ended).toHaveLength(1);
  });
});

describe("a recreated session", () => {
  const SECRET = "SECRET-OF-THE-OLD-SESSION";
  const keep = (request: ScriptedRequest): ScriptedTurn =>
    isSummary(request) ? { text: `${SECRET}.` } : { text: "Oak is fine for a loom. ".repeat(40) };
  const ask = (turn: number): string => `Question ${turn} ${"please tell ".repeat(20)}`;
  const options = { compression: { contextWindow: 2000 }, history: { maxRuns: 4 }, memory: { maxSessions: 1 } };
  // Summaries of the new session belong to the new session.
  const create = () => {
    let isNew = false;
    const model = new ScriptedModel((request) => (isNew && isSummary(request) ? { text: "New." } : keep(request)));
    const begin = (): void => {
      expect(textOf(model.prompts.flat())).toContain(SECRET);
      isNew = true;
    };
    return { model, weaver: agent({ model, ...options }), begin };
  };

  it("has no summary and no history of the old one, even with the same run ids", async () => {
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

  it("has none of it after the agent evicted the old one", async () => {
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
