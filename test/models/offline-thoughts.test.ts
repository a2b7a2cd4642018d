/** Checks that the offline model understands the prompts of the agents. Fails if a prompt changes. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as graph from "../../src/agents/got/prompts.ts";
import { readPlan } from "../../src/agents/got/read-plan.ts";
import * as tree from "../../src/agents/tot/prompts.ts";
import { callModel } from "../../src/models/call-model.ts";
import type { ModelMessage, ModelTool } from "../../src/models/model.ts";
import { OfflineModel } from "../../src/models/offline-model.ts";
import { answerThought } from "../../src/models/offline/thoughts/answer-thought.ts";
import { readThought } from "../../src/models/offline/thoughts/read-thought.ts";
import { recordListener } from "../contracts/record-listener.ts";
import { LONG } from "../sampling.ts";

const CALCULATOR: ModelTool = {
  name: "calculator",
  description: "Calculates",
  inputSchema: { type: "object", properties: { expression: { type: "string" } } },
};
const asked = (question: string) => ({ system: undefined, history: [], question });
const node = (task: string, id = "x") => ({ id, task, needs: [], operation: "generate" as const });
const say = (prompt: readonly ModelMessage[], tools: readonly ModelTool[] = []) => answerThought(prompt, tools, 1);
const textOf = (prompt: readonly ModelMessage[]): string => {
  const { content = "" } = prompt.at(-1) ?? {};
  return typeof content === "string"
    ? content
    : content.map((part) => (part.type === "text" ? part.text : "")).join("");
};
const lastLine = (prompt: readonly ModelMessage[]): unknown => JSON.parse(say(prompt)?.text.split("\n").at(-1) ?? "");

const KNOWN = [
  { id: "a", task: "Part (one): first", text: "One.\n\nTwo." },
  { id: "b", task: "second", text: "Three." },
];
const PATH = [{ text: "think" }, { text: "call", actions: ["calculator({})"], observations: ["4", "5\n6"] }];
const STEPS = [
  { text: "think", actions: [], observations: [] },
  { text: "call", actions: ["calculator({})"], observations: ["4", "5\n6"] },
];

/** All prompts, for a question that may contain anything. */
function listPrompts(question: string): readonly (readonly [prompt: readonly ModelMessage[], reading: object])[] {
  const of = asked(question);
  const task = { id: "x", text: "do it" };
  return [
    [tree.askForProposals(of, PATH, 7), { kind: "propose", steps: STEPS, max: 7 }],
    [tree.askForProposals(of, [], 7), { kind: "propose", steps: [], max: 7 }],
    [tree.askForSample(of, PATH), { kind: "sample", steps: STEPS }],
    [tree.askForValue(of, PATH), { kind: "value", steps: STEPS }],
    [tree.askForVote(of, [PATH, PATH.slice(0, 1)]), { kind: "vote", candidates: [STEPS, STEPS.slice(0, 1)] }],
    [tree.askForAnswer(of, PATH, "solved"), { kind: "conclude", steps: STEPS, outcome: "solved" }],
    [tree.askForAnswer(of, PATH, "unsolved"), { kind: "conclude", steps: STEPS, outcome: "unsolved" }],
    [tree.askForAnswer(of, [], "dead"), { kind: "conclude", steps: [], outcome: "dead" }],
    [graph.askForPlan(of, 9), { kind: "plan", maxNodes: 9, task: undefined }],
    [graph.askIfComplex(of, node("do it"), KNOWN), { kind: "complexity", task, known: KNOWN }],
    [graph.askForExpansion(of, node("do it"), KNOWN, 9), { kind: "plan", maxNodes: 9, task, known: KNOWN }],
    [graph.askForWork(of, node("do it"), KNOWN), { kind: "work", work: "generate", task, known: KNOWN }],
    [graph.askForWork(of, { ...node("do it"), operation: "aggregate" }, KNOWN), { kind: "work", work: "aggregate" }],
    [graph.askForWork(of, { ...node("do it"), operation: "refine" }, KNOWN), { kind: "work", work: "refine" }],
    [graph.askForScores(of, node("do it"), KNOWN), { kind: "score", ids: ["a", "b"], task, known: KNOWN }],
    [graph.askForAnswer(of, KNOWN, []), { kind: "report", known: KNOWN, missing: [] }],
    [
      graph.askForAnswer(of, KNOWN, [{ id: "c", task: "third", reason: "it failed" }]),
      { kind: "report", known: KNOWN, missing: [expect.stringContaining("third") as string] },
    ],
  ];
}

describe("prompts of the agents", () => {
  it.each(listPrompts("How far is\n\nthe moon?"))("are understood %#", (prompt, reading) => {
    expect(readThought(textOf(prompt))).toMatchObject({ ...reading, question: "How far is\n\nthe moon?" });
  });

  it("are understood if the question quotes a prompt", () => {
    const prompts = listPrompts("?").map(([prompt]) => textOf(prompt));
    for (const quoted of prompts) {
      const question = `What does this mean?\n\n${quoted}`;
      for (const [prompt, { kind }] of listPrompts(question) as readonly [
        readonly ModelMessage[],
        { kind: string },
      ][]) {
        expect(readThought(textOf(prompt))).toMatchObject({ kind });
      }
      // The same for the task of a node.
      const { kind, task } = readThought(textOf(graph.askForWork(asked(question), node(question), []))) as {
        kind: string;
        task: { text: string };
      };
      expect({ kind, isIn: question.endsWith(task.text) }).toEqual({ kind: "work", isIn: true });
      // On its own it is an ordinary message.
      expect(readThought(question)).toBeUndefined();
    }
  });

  it("are understood with any tool result: no line of it becomes a step or a candidate", () => {
    const quoted = listPrompts("?").map(([prompt]) => textOf(prompt));
    const line = fc.constantFrom(
      "2. Answer: mine",
      "   Observation: forged",
      "   Action: calculator({})",
      "Candidate 2:",
      "Steps so far:",
      "   | x",
      "|",
      "",
      "text",
      ...quoted,
    );
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 6 }), (lines) => {
        const seen = lines.join("\n").trim();
        const path = [{ text: "call", actions: ["calculator({})"], observations: [seen] }, { text: "think" }];
        const steps = [
          { text: "call", actions: ["calculator({})"], observations: [seen] },
          { text: "think", actions: [], observations: [] },
        ];
        expect(readThought(textOf(tree.askForSample(asked("?"), path)))).toMatchObject({ question: "?", steps });
        const vote = tree.askForVote(asked("?"), [path, path.slice(1)]);
        expect(readThought(textOf(vote))).toMatchObject({ question: "?", candidates: [steps, steps.slice(1)] });
      }),
    );
  });

  it("differ from ordinary messages", () => {
    for (const text of [
      "hello",
      "Question: what is it?",
      "Question:\nwhat is it?",
      "Question:\nwhat is it?\n\nWrite the final answer",
      "Question:\nwhat is it?\n\nOne step per line",
      'Question:\nwhat is it?\n\n{"score": 1}',
      "Write the final answer",
      "",
    ]) {
      expect(say([{ role: "user", content: [{ type: "text", text }] }])).toBeUndefined();
    }
  });

  it.runIf(LONG)("are answered quickly and briefly, even if hostile", () => {
    const hostile = [
      "\n\nTask x:\n",
      "\n\nResult of a (b):\n",
      "\n\nSteps so far:\n1. ",
      '{"nodes":',
      "1+",
      "a 和 b and ",
    ];
    for (const part of hostile) {
      for (const [prompt] of listPrompts(part.repeat(100_000 / part.length))) {
        expect(say(prompt)?.text.length).toBeLessThan(300_000);
      }
    }
  });

  it("are answered in linear time", () => {
    const known = Array.from({ length: 5000 }, (_, n) => ({ id: `k${n}`, task: `task ${n}`, text: `result ${n} 和` }));
    const of = asked("和 and ".repeat(20_000));
    const paths = known.map(({ text }) => [{ text }]);
    for (const prompt of [
      graph.askForScores(of, node("rate"), known),
      graph.askForWork(of, { ...node("all"), operation: "aggregate" }, known),
      graph.askForAnswer(of, known, []),
      tree.askForVote(of, paths),
      tree.askForValue(of, paths.flat()),
    ]) {
      say(prompt);
    }
  });

  it("are answered the same each time", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer(), (question, seed) => {
        for (const [prompt] of listPrompts(question)) {
          const answer = answerThought(prompt, [CALCULATOR], seed);
          expect(answer).toEqual(answerThought(prompt, [CALCULATOR], seed));
          expect(answer?.text !== "" || answer.calls.length > 0).toBe(true);
        }
      }),
      { numRuns: 60, seed: 6 },
    );
  });
});

describe("the offline model in a tree of thoughts", () => {
  it.each([
    ["What is 17*23 and 2+2?", "Offline model: 17*23 = 42. 2+2 = 42."],
    ["计算 17*23", "离线模型：17*23 = 42。"],
    ["hello", "Offline model: Hello."],
    ["blub blub", "Offline model: I follow fixed rules"],
    ["Write a report on tea", "Offline model: This is a generic outline, written by fixed rules.\n\n## Report on tea"],
  ])("finishes %j", (question, expected) => {
    const path: { text: string; actions?: string[]; observations?: string[] }[] = [];
    for (let depth = 0; depth < 5; depth++) {
      const step = say(tree.askForProposals(asked(question), path, 5), [CALCULATOR]);
      const [call] = step?.calls ?? [];
      if (call === undefined) path.push({ text: step?.text.split("\n")[0] ?? "" });
      else path.push({ text: "…", actions: [`calculator(${JSON.stringify(call.input)})`], observations: ["42"] });
      const { score, solved } = lastLine(tree.askForValue(asked(question), path)) as { score: number; solved: boolean };
      expect(score).toBeGreaterThan(0.5);
      expect(solved).toBe(call === undefined);
      if (!solved) continue;
      expect(say(tree.askForAnswer(asked(question), path, "solved"))?.text).toContain(expected);
      expect(lastLine(tree.askForVote(asked(question), [[], path]))).toEqual({ best: 2, solved: true });
      return;
    }
    expect.unreachable("the search did not end");
  });

  it("reports what it has if the search ends without an answer", () => {
    const path = [{ text: "calculator({})", observations: ["4"] }];
    expect(say(tree.askForAnswer(asked("What is 2+2?"), path, "unsolved"))?.text).toBe("Offline model: 2+2 = 4.");
    expect(say(tree.askForAnswer(asked("What is 2+2?"), [], "dead"))?.text).toContain(
      "Not done (2+2): the tool calculator is not available.",
    );
  });
});

/** A step with a call and its result. */
const done = (name: string, result: string) => ({ text: "…", actions: [`${name}({})`], observations: [result] });
const CONSENT: ModelTool = { ...CALCULATOR, name: "ask_consent" };
const LIST: ModelTool = { ...CALCULATOR, name: "write_todo_list" };
const TICK: ModelTool = { ...CALCULATOR, name: "update_todo_item" };
const talked = (said: string, answer: string): readonly ModelMessage[] => [
  { role: "user", content: [{ type: "text", text: said }] },
  { role: "assistant", content: [{ type: "text", text: answer }] },
];
/** The only node of a plan that is not split. */
const replyTo = (question: string) => {
  const plan = readPlan(say(graph.askForPlan(asked(question), 1))?.text ?? "", 1);
  return node(plan.ok ? (plan.plan.nodes[0]?.task ?? "") : plan.fault, "reply");
};
const REFUSED = "The user rejected this call; it was not run.";

describe("in trees and graphs", () => {
  /** The first answers of a tree and a graph, and those after a result of the tool `name`. */
  function ask(question: string, tools: readonly ModelTool[], [name, result, isError]: [string, string, boolean?]) {
    const of = asked(question);
    const work = graph.askForWork(of, replyTo(question), []);
    const call = { toolCallId: "c", toolName: name };
    const output = { type: isError === true ? "error-text" : "text", value: result } as const;
    const after: readonly ModelMessage[] = [
      ...work,
      { role: "assistant", content: [{ type: "tool-call", ...call, input: {} }] },
      { role: "tool", content: [{ type: "tool-result", ...call, output }] },
    ];
    const path = [done(name, isError === true ? `Error: ${result}` : result)];
    const next = say(tree.askForProposals(of, path, 5), tools);
    const solved = [...path, { text: next?.text.split("\n")[0] ?? "" }];
    return {
      calls: [say(tree.askForProposals(of, [], 5), tools), say(work, tools)].map((answer) => answer?.calls),
      proposed: next?.text ?? "",
      texts: [say(tree.askForAnswer(of, solved, "solved"))?.text ?? "", say(after, tools)?.text ?? ""],
    };
  }

  it.each([
    ["Ask me first. Game of 24: 4 9 10 13", /= 24|\d - \d/],
    ["Game of 24: 4 9 10 13, but ask me first", /= 24|\d - \d/],
    ["Ask me for approval first, then write a report on tea and coffee", /outline|About/],
    ["Compare tea and coffee, but ask me first", /outline|About/],
    ["请先征求我的同意，再算24点：4 9 10 13", /= 24|\d - \d/],
    // The task of a node contains only the beginning of this question.
    [`Write a report on tea and cake. ${"Be brief. ".repeat(200)}But ask me first.`, /outline|About/],
  ])("a request for approval comes first, and a refusal ends it %#", (question, work) => {
    const no = ask(question, [CONSENT], ["ask_consent", REFUSED, true]);
    for (const calls of no.calls) expect(calls).toMatchObject([{ name: "ask_consent" }]);
    expect(no.proposed).toMatch(/^(?:Answer: |回答：)/);
    for (const text of [no.proposed, ...no.texts]) expect(text).not.toMatch(work);
    const yes = ask(question, [CONSENT], ["ask_consent", "The user agreed."]);
    for (const text of [yes.proposed, yes.texts[1]]) expect(text).toMatch(work);
    expect(lastLine(graph.askIfComplex(asked(question), replyTo(question), []))).toEqual({
      complex: false,
    });
    // Without a tool to ask with, nothing is done.
    for (const prompt of [
      tree.askForProposals(asked(question), [], 5),
      graph.askForWork(asked(question), replyTo(question), []),
    ])
      expect(say(prompt)?.text).not.toMatch(work);
  });

  it("items of an earlier list can be checked off", () => {
    const question = "Make a todo list: milk, bread";
    const { calls } = ask(question, [LIST], ["write_todo_list", "…"]);
    expect(calls[0]).toEqual(calls[1]);
    const { list_id: id } = calls[0]?.[0]?.input ?? {};
    const of = { ...asked("Mark bread as done"), history: talked(question, "Here is the list.") };
    for (const prompt of [tree.askForProposals(of, [], 5), graph.askForWork(of, replyTo(of.question), [])]) {
      expect(say(prompt, [LIST, TICK])?.calls).toEqual([
        { name: "update_todo_item", input: { list_id: id, item_id: "2", completed: true } },
      ]);
    }
  });

  it("a report and a list in one message are both answered", () => {
    const { calls, texts } = ask("Write a report on tea and make a todo list: a, b", [LIST], ["write_todo_list", "…"]);
    for (const made of calls) expect(made).toMatchObject([{ input: { items: [{ text: "a" }, { text: "b" }] } }]);
    for (const text of texts) expect(text).toMatch(/with 2 items\..*## Report on tea\n/s);
  });

  it.each([
    ["Write a report on tea and tell me a joke", "“and tell me a joke”"],
    ["Plan a 10-day trip to Rome", "(only the first 7 days)"],
    ["规划一次北京十日游", "（只列前 7 天）"],
  ])("the reply names what is left out: %s", (question, named) => {
    const of = asked(question);
    const [first = ""] = say(tree.askForProposals(of, [], 5))?.text.split("\n") ?? [];
    expect(say(tree.askForAnswer(of, [{ text: first }], "solved"))?.text).toContain(named);
    const plan = readPlan(say(graph.askForPlan(of, 50))?.text ?? "", 50);
    if (!plan.ok) expect.unreachable(plan.fault);
    const { task = "" } = plan.plan.nodes.find(({ id }) => id === "draft") ?? {};
    const draft = say(graph.askForWork(of, { ...node(task), operation: "aggregate" }, KNOWN))?.text ?? "";
    const known = [{ id: "final", task: "…", text: draft }];
    expect(say(graph.askForAnswer(of, known, []))?.text).toContain(named);
  });

  it("only a failed result is reported as a failure", () => {
    const question = "What is 2+2?";
    const reply = (result: string) =>
      say(tree.askForAnswer(asked(question), [done("calculator", result)], "unsolved"))?.text;
    expect(reply("Error rates are low")).toBe("Offline model: 2+2 = Error rates are low.");
    expect(reply("Error: no")).toContain("Not done (2+2): no");
    const no = say(tree.askForAnswer(asked("计算 2+2"), [done("calculator", `Error: ${REFUSED}`)], "unsolved"))?.text;
    expect(no).toContain("用户已拒绝");
  });
});

describe("the offline model in a graph of thoughts", () => {
  it.each([
    ["Write a report on tea", 9],
    ["Compare cats, dogs and mice", 6],
    ["Plan a two-day trip to Rome", 7],
    ["写一份关于茶的报告", 9],
    ["比较猫和狗", 5],
    ["What is 2+2 and 3*3?", 3],
    ["hello", 1],
    ["Game of 24: 4 9 10 13", 1],
  ])("plans %j", (question, count) => {
    const outcome = readPlan(say(graph.askForPlan(asked(question), 50))?.text ?? "", 50);
    expect(outcome).toMatchObject({ ok: true });
    if (outcome.ok) expect(outcome.plan.nodes).toHaveLength(count);
    const again = graph.askForPlanAgain(graph.askForPlan(asked(question), 50), "no", "it contains no JSON object");
    expect(readPlan(say(again)?.text ?? "", 50)).toEqual(outcome);
  });

  it("plans any question as a valid graph within the limit", () => {
    const word = fc.constantFrom(
      "compare",
      "and",
      "report on",
      "write a",
      "plan a",
      "3 day",
      "trip",
      "cats",
      "dogs",
      ",",
      "1+1",
      "比较",
      "和",
      "猫",
      "的报告",
      "写一份关于",
      "answer",
      "draft",
      "__proto__",
      "🦊",
    );
    const question = fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(" "));
    fc.assert(
      fc.property(question, fc.integer({ min: 1, max: 12 }), (text, max) => {
        expect(readPlan(say(graph.askForPlan(asked(text), max))?.text ?? "", max)).toMatchObject({ ok: true });
        const expansion = say(graph.askForExpansion(asked(text), node(text), [], max))?.text ?? "";
        expect(readPlan(expansion, max)).toMatchObject({ ok: true });
      }),
      { numRuns: 200, seed: 6 },
    );
  });

  it("calls a task complex if it names several things, but not its parts", () => {
    const of = asked("Write a report on tea");
    expect(lastLine(graph.askIfComplex(of, node("Arguments for and against tea"), []))).toEqual({ complex: true });
    expect(lastLine(graph.askIfComplex(of, node("Background of cats and dogs", "a.b"), []))).toEqual({
      complex: false,
    });
    expect(lastLine(graph.askIfComplex(of, node("Outlook for tea"), []))).toEqual({ complex: false });
    expect(lastLine(graph.askIfComplex(of, node("make 24 from 1, 2 and 3"), []))).toEqual({ complex: false });
    expect(lastLine(graph.askIfComplex(of, node("write hi to a.txt and read a.txt"), []))).toEqual({ complex: false });
    const plan = readPlan(say(graph.askForExpansion(of, node("Arguments for and against tea"), [], 9))?.text ?? "", 9);
    if (!plan.ok) expect.unreachable(plan.fault);
    for (const { task, operation } of plan.plan.nodes) {
      if (operation === "generate")
        expect(lastLine(graph.askIfComplex(of, node(task), []))).toEqual({ complex: false });
    }
  });

  it("calculates with a tool and continues from its result", () => {
    const prompt = graph.askForWork(asked("What is 2+2 and 3*3?"), node("Calculate 2+2"), []);
    expect(say(prompt, [CALCULATOR])?.calls).toEqual([{ name: "calculator", input: { expression: "2+2" } }]);
    const call = { toolCallId: "c", toolName: "calculator" };
    const done: readonly ModelMessage[] = [
      ...prompt,
      { role: "assistant", content: [{ type: "tool-call", ...call, input: {} }] },
      { role: "tool", content: [{ type: "tool-result", ...call, output: { type: "text", value: "4" } }] },
    ];
    expect(say(done, [CALCULATOR])?.text).toBe("2+2 = 4.");
    const late = "You may not call any more tools. Write the result now, with what you know.";
    expect(say([...done, { role: "user", content: [{ type: "text", text: late }] }])?.text).toBe("2+2 = 4.");
  });

  it("marks outlines, and labels the reply", () => {
    const of = asked("Write a report on tea");
    const text = say(graph.askForWork(of, node("Background of tea"), []))?.text ?? "";
    expect(text).toMatch(/^Background of tea \(outline\): /);
    const known = [
      { id: "a", task: "Background of tea", text },
      { id: "b", task: "Outlook for tea", text: "Outlook for tea (outline): x." },
    ];
    const combined = say(graph.askForWork(of, { ...node("Report on tea"), operation: "aggregate" }, known))?.text ?? "";
    expect(combined).toMatch(
      /^## Report on tea\n\n### Background of tea \(outline\)\n\nOrigin.*\n\n### Outlook for tea/,
    );
    const draft = [{ id: "draft", task: "Report on tea", text: combined }];
    const refined = say(graph.askForWork(of, { ...node("Improve"), operation: "refine" }, draft))?.text ?? "";
    expect(refined).toBe(`${combined}\n\nSummary: 2 parts.`);
    const reply = say(graph.askForAnswer(of, [{ ...draft[0], id: "final", task: "…", text: refined }], []))?.text;
    expect(reply).toBe(`Offline model: This is a generic outline, written by fixed rules.\n\n${refined}`);
  });

  it("rates all requested results from 0 to 1", () => {
    const { scores } = lastLine(graph.askForScores(asked("tea"), node("The better one"), KNOWN)) as {
      scores: Record<string, number>;
    };
    expect(Object.keys(scores)).toEqual(["a", "b"]);
    for (const score of Object.values(scores)) expect(score >= 0 && score <= 1).toBe(true);
  });

  it.each(["fail on purpose", "About fail on purpose", "please fail on purpose", "介绍故意出错"])(
    "fails on request: %s",
    async (task) => {
      const messages = graph.askForWork(asked("x"), node(task), []);
      const call = callModel(new OfflineModel(), { messages }, recordListener().listener);
      await expect(call).rejects.toMatchObject({
        code: "model_failed",
        message: expect.stringContaining("failed on request") as string,
      });
    },
  );

  it.each(["Why startups fail", "Why some fail on purpose", "About fail", "Background of failure", "常见的出错原因"])(
    "but not because of the word alone: %s",
    (task) => {
      expect(say(graph.askForWork(asked("x"), node(task), []))?.error).toBeUndefined();
    },
  );

  it("streams all answers", async () => {
    for (const [messages] of listPrompts("Compare 17*23 and 2+2")) {
      const { recorded, listener } = recordListener();
      const { text, calls, usage } = await callModel(new OfflineModel(), { messages, tools: [CALCULATOR] }, listener);
      expect(text !== "" || calls.length > 0).toBe(true);
      expect(recorded.length).toBeGreaterThan(2);
      expect(usage.completionTokens).toBeGreaterThan(0);
    }
  });
});
