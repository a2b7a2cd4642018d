// Models that do not follow their prompt: their output is bounded, faults are reported, and the run ends.
import { describe, expect, it } from "vitest";
import { eventsOf, createAgentFixture } from "../../../test/agents/agent-fixture.ts";
import type { ScriptedRequest, ScriptedTurn } from "../../models/scripted-model.ts";
import type { CommonOptions } from "../index.ts";
import type { TotOptions } from "./tot-settings.ts";
import { type QuestionKind, readPrompt, rebuildTree } from "../../../test/contracts/tree-script.ts";
import { LONG } from "../../../test/sampling.ts";

type Say = (request: ScriptedRequest) => ScriptedTurn | string;

type Options = TotOptions & Pick<CommonOptions, "callOptions">;

async function search(say: Partial<{ readonly [K in QuestionKind]: Say }>, options: Options = {}) {
  const fixture = await createAgentFixture(
    (request) => {
      const { kind } = readPrompt(request);
      const said = say[kind]?.(request) ?? (kind === "answer" ? "That is all." : kind === "value" ? VALUE : "x\ny");
      return typeof said === "string" ? { text: said, chunk: 4096 } : { chunk: 4096, ...said };
    },
    { kind: "tot", tools: [], maxDepth: 2, ...options },
  );
  const run = await fixture.ask("Which way?");
  const end = await run.ended;
  const records = await fixture.read();
  return { fixture, end, records, errors: eventsOf(records, "error") };
}

const LITTLE = { callOptions: { maxOutputCharacters: 10_000 } };
const VALUE = '{"score": 0.5, "solved": false}';

describe("a rating", () => {
  it.each([
    ["prose", "I think it is quite good, really."],
    ["nothing", ""],
    ["not a number", '{"score": NaN}'],
    ["null", '{"score": null}'],
    ["too high", '{"score": 700}'],
    ["below zero", '{"score": -0.1}'],
    ["infinite", '{"score": 1e999}'],
    ["an object", '{"score": {"why": 1}}'],
    ["another object", '{"points": 0.5}'],
    ["the form itself", '{"score": 0.0 to 1.0, "solved": true or false}'],
    ["a thought about a score", "<think>Score: 0.9</think>"],
    ["a list", "[0.5]"],
    ["cut", '{"score": 0.'],
  ])("that is %s is requested once more, then unknown and reported once", async (_, text) => {
    const { fixture, end, records, errors } = await search({ value: () => text }, { maxDepth: 1, threshold: 0.9 });
    expect(end.status).toBe("completed");
    expect(errors).toMatchObject([{ code: "model_output_invalid", recoverable: true }]);
    expect(errors[0]?.message).toContain("2 ratings");
    expect(errors[0]?.message).toContain("for 1, 2; the neutral score 0.5 is used");
    // An unknown rating is not a dead end, so the search continues and the answer does not claim one.
    expect(eventsOf(records, "tot_evaluate")).toMatchObject([{ scores: [0.5, 0.5], kept: ["1", "2"] }]);
    expect(eventsOf(records, "tot_backtrack")).toEqual([]);
    const asked = fixture.model.requests.map((request) => readPrompt(request));
    const values = asked.filter(({ kind }) => kind === "value");
    expect(values).toHaveLength(4);
    expect(values.filter(({ isAgain }) => isAgain)).toHaveLength(2);
    expect(asked.at(-1)?.text).not.toContain("dead end");
  });

  it.each([
    ["impossible", 0],
    ["评分：1分（满分10分）", 0.1],
    ["★☆☆☆☆", 0.2],
    ["25%", 0.25],
  ])("of %j loses to 0.3", async (said, score) => {
    const { errors, records } = await search(
      { value: (request) => (readPrompt(request).steps.at(-1) === "x" ? said : '{"score": 0.3}') },
      { maxDepth: 1 },
    );
    expect(errors).toEqual([]);
    expect(eventsOf(records, "tot_evaluate")).toMatchObject([{ chosen: 1, scores: [score, 0.3] }]);
  });

  it("is requested again with its fault", async () => {
    const { fixture } = await search({ value: () => '{"score": "good"}' }, { maxDepth: 1 });
    const again = fixture.model.prompts.find((prompt) => prompt.at(-2)?.role === "assistant") ?? [];
    expect(again.at(-1)?.content[0]).toMatchObject({
      text: expect.stringContaining('the score "good" is not a number from 0 to 1') as string,
    });
  });

  it("that is corrected in the second answer counts without a warning", async () => {
    const { errors, records } = await search({
      value: (request) => (readPrompt(request).isAgain ? VALUE : "Well."),
    });
    expect(errors).toEqual([]);
    expect(eventsOf(records, "tot_evaluate")[0]).toMatchObject({ scores: [0.5, 0.5] });
  });

  it.each([
    ["true", 1],
    ["false", 2],
  ])("may have numbers and %s as strings, and any text before it", async (solved, levels) => {
    const said = `So {hm} "…\n\`\`\`json\n{"score": "0.25", "solved": "${solved}"}\n\`\`\``;
    const { errors, records } = await search({ value: () => said });
    expect(errors).toEqual([]);
    expect(eventsOf(records, "tot_evaluate")[0]).toMatchObject({ scores: [0.25, 0.25] });
    expect(eventsOf(records, "tot_evaluate")).toHaveLength(levels);
  });

  it.each([["0"], ["3"], ["1.5"], ["-1"], ['"first"'], ["null"]])(
    "is not a vote for candidate %s of 2",
    async (best) => {
      const { end, errors, records } = await search(
        { vote: () => `{"best": ${best}}` },
        { evaluate: "vote", maxDepth: 1 },
      );
      expect(end.status).toBe("completed");
      expect(errors).toMatchObject([{ code: "model_output_invalid" }]);
      // No candidate has votes and none is a dead end, so the first comes first.
      expect(eventsOf(records, "tot_evaluate")).toMatchObject([{ chosen: 0, scores: [0.5, 0.5], kept: ["1", "2"] }]);
    },
  );

  it("that is too long is reported, and the search continues", async () => {
    const { end, errors } = await search({ value: () => "x".repeat(20_000) }, { ...LITTLE, maxDepth: 1 });
    expect(end.status).toBe("completed");
    expect(errors).toMatchObject([{ code: "model_output_invalid" }]);
  });
});

describe("thoughts", () => {
  it("are limited to the requested number", async () => {
    const lines = Array.from({ length: 10_000 }, (_, index) => `step ${index}`).join("\n");
    const { end, records, errors } = await search({ propose: () => lines }, { candidates: 3 });
    expect(end.status).toBe("completed");
    expect(eventsOf(records, "tot_expand")).toMatchObject([
      { ids: ["1", "2", "3"] },
      { parents: ["1", "1", "1", "2", "2", "2", "3", "3", "3"] },
    ]);
    expect(errors).toEqual([]);
  });

  it("are limited to what a record can hold", async () => {
    const { end, records, errors } = await search(
      { propose: () => ["深".repeat(200_000), "\u0000".repeat(100_000) + "a", "b\uD800"].join("\n") },
      { beam: 5, candidates: 16, maxDepth: 1 },
    );
    expect(end.status).toBe("completed");
    expect(errors[0]).toMatchObject({ code: "model_output_invalid" });
    const [first] = eventsOf(records, "tot_expand");
    expect(first?.candidates.map(({ length }) => length)).toEqual([4000, 1, 2]);
  });

  it.runIf(LONG)(
    "of a wide level share the space of a record",
    async () => {
      const lines = Array.from({ length: 400 }, (_, index) => `${index}${"深".repeat(600)}`).join("\n");
      const { end, records } = await search(
        { propose: () => lines, vote: () => '{"best": 1}' },
        { evaluate: "vote", beam: 5, candidates: 400, maxThoughts: 1200 },
      );
      expect(end.status).toBe("completed");
      expect(rebuildTree(records).thoughts.size).toBe(1200);
    },
    20_000,
  );

  it.runIf(LONG)("with calls of the longest names, ids and arguments fit into a record", async () => {
    const long = (text: string): string => `${text}${"水".repeat(256)}`.slice(0, 256);
    const { end, records } = await search(
      {
        sample: ({ seed }) => ({
          text: `s${seed}${"水".repeat(4000)}`,
          calls: Array.from({ length: 8 }, (_, n) => ({
            name: long(""),
            id: long(`${seed}.${n}`),
            input: `[${"\u0001".repeat(500)}`,
          })),
        }),
      },
      { generate: "sample", candidates: 60, beam: 1, maxDepth: 1 },
    );
    expect(end.status).toBe("completed");
    expect(rebuildTree(records).thoughts.size).toBe(60);
    const calls = eventsOf(records, "tool_call").length;
    expect([calls, eventsOf(records, "tool_end").length]).toEqual([480, 480]);
  });

  it("that were cut off are left out and reported", async () => {
    const { records, errors } = await search(
      { propose: () => ({ text: "x\ny\nand th", finishReason: "length" }) },
      { maxDepth: 1 },
    );
    expect(eventsOf(records, "tot_expand")[0]?.candidates).toEqual(["x", "y"]);
    expect(errors).toMatchObject([
      { code: "model_output_invalid", message: expect.stringContaining("cut off") as string },
    ]);
  });

  it("of an answer that is too long are ignored", async () => {
    const { end, errors } = await search({ propose: () => "x\n".repeat(20_000) }, LITTLE);
    expect(end.status).toBe("completed");
    expect(errors).toMatchObject([{ code: "model_output_invalid" }]);
  });

  it("that are empty are requested once more, then reported, and are not dead ends", async () => {
    for (const text of ["", "\n\n---\n", "```\n```"])
      for (const generate of ["propose", "sample"] as const) {
        const { end, records, errors, fixture } = await search(
          { propose: () => text, sample: () => text },
          { generate, candidates: 1 },
        );
        expect(end.status).toBe("completed");
        expect(eventsOf(records, "tot_expand")).toEqual([]);
        expect(errors).toMatchObject([
          { code: "model_output_invalid", recoverable: true, message: expect.stringContaining("empty") as string },
        ]);
        expect(fixture.model.requests.map((request) => readPrompt(request).kind)).toEqual([
          generate,
          generate,
          "answer",
        ]);
        expect(readPrompt(fixture.model.requests[2]!).text).not.toContain("dead end");
      }
  });

  it("of the second answer count if the first was empty", async () => {
    const { errors, records } = await search(
      { propose: ({ prompt }) => (prompt.at(-2)?.role === "assistant" ? "x" : "") },
      { maxDepth: 1 },
    );
    expect(errors).toEqual([]);
    expect(eventsOf(records, "tot_expand")).toMatchObject([{ candidates: ["x"] }]);
  });

  it.each(["propose", "sample"] as const)("that do not exist are not requested again: %s", async (generate) => {
    const { errors, fixture } = await search(
      { propose: () => "None.", sample: () => "none" },
      { generate, candidates: 1 },
    );
    expect(errors).toEqual([]);
    expect(fixture.model.requests).toHaveLength(2);
  });

  it("named like properties of objects are ordinary thoughts", async () => {
    const { end, records } = await search({ propose: () => "__proto__\nconstructor" });
    expect(end.status).toBe("completed");
    expect(eventsOf(records, "tot_expand")[0]?.candidates).toEqual(["__proto__", "constructor"]);
  });
});

describe("a call that the model rejects", () => {
  const refuse = (): ScriptedTurn => ({
    fault: { kind: "throw", error: Object.assign(new Error("not this"), { statusCode: 400 }) },
  });
  const isOf = (request: ScriptedRequest, step: string): boolean => readPrompt(request).steps.at(-1) === step;

  it.each<[string, Partial<{ readonly [K in QuestionKind]: Say }>, Options]>([
    ["judgement", { value: (request) => (isOf(request, "y") ? refuse() : VALUE) }, {}],
    ["proposal", { propose: (request) => (isOf(request, "y") ? refuse() : "x\ny") }, {}],
    ["sample", { sample: ({ seed }) => (seed === 1 ? refuse() : `s${seed}`) }, { generate: "sample" }],
    ["vote", { vote: ({ seed }) => (seed === 1 ? refuse() : '{"best": 2}') }, { evaluate: "vote" }],
  ])("loses only its own answer: a %s", async (_, say, options) => {
    const { end, errors, records } = await search(say, options);
    expect(end.status).toBe("completed");
    expect(errors.length).toBeGreaterThan(0);
    for (const error of errors) expect(error).toMatchObject({ code: "model_failed", recoverable: true });
    expect(errors[0]?.message).toContain("1 model calls failed");
    expect(rebuildTree(records).path).toHaveLength(2);
  });

  it("loses a branch if it was the only call of its step", async () => {
    const verdict = (score: number, solved = false): string => JSON.stringify({ score, solved });
    const { end, errors, records } = await search(
      {
        propose: (request) => (isOf(request, "x") ? refuse() : isOf(request, "y") ? "z" : "x\ny"),
        value: (request) => (isOf(request, "z") ? verdict(1, true) : verdict(isOf(request, "x") ? 0.9 : 0.5)),
      },
      { strategy: "depth" },
    );
    expect(end.status).toBe("completed");
    expect(errors).toMatchObject([{ code: "model_failed", recoverable: true }]);
    expect(rebuildTree(records).path).toEqual(["2", "2.1"]);
  });

  it("ends the run if all are rejected, without trying all", async () => {
    const lines = Array.from({ length: 40 }, (_, index) => `step ${index}`).join("\n");
    for (const [options, least] of [
      [{ candidates: 3 }, 3],
      [{ candidates: 40, concurrency: 1 }, 8],
    ] as const) {
      const { fixture, end } = await search({ propose: () => lines, value: refuse }, options);
      expect(end).toMatchObject({ status: "error", code: "model_failed" });
      expect(fixture.model.requests).toHaveLength(1 + least);
    }
  });
});

describe("a model that fails", () => {
  it("ends the run with a code", async () => {
    for (const kind of ["propose", "value", "answer"] as const) {
      const { end, errors } = await search({ [kind]: () => ({ fault: { kind: "throw" } }) });
      expect(end).toMatchObject({ status: "error", code: "model_failed" });
      expect(errors.at(-1)).toMatchObject({ stage: "llm_stream" });
    }
  });

  it("to answer gets a default reply, and the empty answer is reported", async () => {
    const { end, records, errors } = await search({ answer: () => " " });
    expect(errors).toMatchObject([{ code: "model_empty", recoverable: true }]);
    expect(end.status).toBe("completed");
    expect(eventsOf(records, "reply")[0]?.reply).toBe("I have no answer.");
  });

  it("to finish its answer is reported", async () => {
    const { errors } = await search({ answer: () => ({ text: "Half of", finishReason: "length" }) });
    expect(errors).toMatchObject([{ code: "model_output_cut", recoverable: true }]);
  });
});
