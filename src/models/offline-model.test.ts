import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { callModel } from "./call-model.ts";
import type { ModelMessage, ModelTool } from "./model.ts";
import { OfflineModel } from "./offline-model.ts";
import { recordListener } from "../../test/contracts/record-listener.ts";

const tool = (name: string, properties = {}): ModelTool => ({
  name,
  description: name,
  inputSchema: { type: "object", properties },
});
const TOOLS = [
  tool("calculator"),
  tool("current_time", { timezone: { type: "string" } }),
  tool("write_file"),
  tool("delete_file"),
  tool("read_file"),
  tool("list_files"),
  tool("search_files"),
];

const user = (text: string): ModelMessage => ({ role: "user", content: [{ type: "text", text }] });

async function ask(messages: readonly ModelMessage[], tools: readonly ModelTool[] = TOOLS, options = {}) {
  const { recorded, listener } = recordListener();
  const result = await callModel(new OfflineModel(), { messages, tools, ...options }, listener);
  return { ...result, recorded, made: result.calls.map(({ name, input }) => [name, input]) };
}

/** Asks and runs the calls with `answer` until there is a reply. */
async function converse(text: string, answer: (tool: string) => string, before: readonly ModelMessage[] = []) {
  const messages = [...before, user(text)];
  const made: unknown[] = [];
  for (let turn = 0; turn < 5; turn++) {
    const { content, calls, text: said } = await ask(messages);
    messages.push({ role: "assistant", content });
    if (calls.length === 0) return { said, made, messages };
    made.push(calls.map(({ name, input }) => [name, input]));
    const results = calls.map(({ callId, name }) => {
      const value = answer(name);
      const type = value.startsWith("Error") ? ("error-text" as const) : ("text" as const);
      return { type: "tool-result" as const, toolCallId: callId, toolName: name, output: { type, value } };
    });
    messages.push({ role: "tool", content: results });
  }
  throw new Error("the conversation did not end");
}

/** A file system of three files. */
function run(files: Map<string, string>, verb: string, path: string, content = ""): string {
  if (verb === "write") files.set(path, content);
  if (verb === "delete") files.delete(path);
  return verb === "list"
    ? `<${["a.txt", "b.txt", "c.txt"].filter((name) => files.has(name)).join()}>`
    : `<${path} ${files.get(path) ?? "is not there"}>`;
}

describe("the offline model calls tools for", () => {
  it.each<[string, ...[string, object][]]>([
    ["12 加 30 再乘以 2 等于多少？", ["calculator", { expression: "(12+30)*2" }]],
    ["What is 8 / 2, then minus 1, then times 10?", ["calculator", { expression: "((8/2)-1)*10" }]],
    ["What is 17*23?", ["calculator", { expression: "17*23" }]],
    ["17 times 23", ["calculator", { expression: "17*23" }]],
    ["12 plus (3 - 4) squared", ["calculator", { expression: "12+(3-4)^2" }]],
    ["What is 15% of 80?", ["calculator", { expression: "15/100*80" }]],
    ["the square root of 144", ["calculator", { expression: "sqrt(144)" }]],
    ["How much is 1,000 x 3?", ["calculator", { expression: "1000*3" }]],
    ["9除以3是多少", ["calculator", { expression: "9/3" }]],
    ["计算（3＋4）×5", ["calculator", { expression: "(3+4)*5" }]],
    ["Subtract 5 from 12", ["calculator", { expression: "12-5" }]],
    ["what is 1/3 of 90?", ["calculator", { expression: "1/3*90" }]],
    ["2的10次方是多少？", ["calculator", { expression: "2^10" }]],
    ["3和4的积是多少", ["calculator", { expression: "3*4" }]],
    ["what is 3-4?", ["calculator", { expression: "3-4" }]],
    ["9-3", ["calculator", { expression: "9-3" }]],
    ["What is 8/2 and 9-3?", ["calculator", { expression: "8/2" }], ["calculator", { expression: "9-3" }]],
    ["The score was 3-2, what is the time?", ["current_time", {}]],
    [
      "What time is it in Tokyo and London?",
      ["current_time", { timezone: "Asia/Tokyo" }],
      ["current_time", { timezone: "Europe/London" }],
    ],
    ["what time is it", ["current_time", {}]],
    ["Please tell me what time it is", ["current_time", {}]],
    ["What is the time in Tokyo?", ["current_time", { timezone: "Asia/Tokyo" }]],
    ["现在几点？", ["current_time", {}]],
    ["What is 17*23 and what time is it?", ["calculator", { expression: "17*23" }], ["current_time", {}]],
    ["计算 2^10，现在几点？", ["calculator", { expression: "2^10" }], ["current_time", {}]],
    ["2+2 and 3*3", ["calculator", { expression: "2+2" }], ["calculator", { expression: "3*3" }]],
    ["Write hello world to notes/a.txt", ["write_file", { path: "notes/a.txt", content: "hello world" }]],
    ['save "2+2 is 4" in file sum', ["write_file", { path: "sum", content: "2+2 is 4" }]],
    ["create a file called foo.txt with the text: hi", ["write_file", { path: "foo.txt", content: "hi" }]],
    ["把“你好”写入文件 hello.txt", ["write_file", { path: "hello.txt", content: "你好" }]],
    ["创建文件 a.md，内容是：今天很好。", ["write_file", { path: "a.md", content: "今天很好" }]],
    ["Delete the file ../secret", ["delete_file", { path: "../secret" }]],
    ["删除 b.txt", ["delete_file", { path: "b.txt" }]],
    [
      "write hi to a.txt and delete b.txt",
      ["write_file", { path: "a.txt", content: "hi" }],
      ["delete_file", { path: "b.txt" }],
    ],
    ["show me notes/a.txt", ["read_file", { path: "notes/a.txt" }]],
    ["列出文件", ["list_files", {}]],
    ["Search the files for hello world.", ["search_files", { query: "hello world" }]],
    ['grep my files for "a and b"', ["search_files", { query: "a and b" }]],
    ["在文件中搜索“你好”", ["search_files", { query: "你好" }]],
  ])("%s", async (text, ...made) => {
    expect((await ask([user(text)])).made).toEqual(made);
  });

  it.each([
    "Hello",
    "We are open 24/7",
    "On 2024-01-05 at 3-4 pm",
    "Tell me a joke",
    "你好",
    "",
    "What is love?",
    "delete it",
    // Half a sentence would give a wrong calculation.
    "today is 2024-01-02, what is that?",
    "What is a 5x5 grid?",
    "What is 3 + 4 apples?",
    "What is 7 plus 3 minus two?",
    "What is 12:30 + 2?",
    "What is 3,5 + 2?",
    "What is 2024-01-02 + 3?",
    "My phone is +1-555-123-4567, what is that?",
    "I have 3+ years and 2-4 kids, what is my level?",
    "version 1.2.3 - 1.2.2",
    "计算 100 减去 20%",
    "what is ((2+3)*4",
    "solve 2*x+3*4 = 7",
    "What is 9/11?",
    // No question for the time, or for the time of an unknown place.
    "What is the time complexity of quicksort?",
    "For the first time in years",
    "What day was 2024-02-30?",
    "What time is it in Timbuktu?",
    "明天几点开会？",
  ])("nothing in %j", async (text) => {
    const { made, text: said } = await ask([user(text)]);
    expect(made).toEqual([]);
    expect(said).toMatch(/^(Offline model: |离线模型：)/);
    expect(said).toMatch(/OPENAI_API_KEY/);
  });
});

describe("the offline model", () => {
  it("answers from the results of its tools", async () => {
    const { said, made } = await converse("What is 17*23 and what time is it?", (name) =>
      name === "calculator" ? "391" : "12:00",
    );
    expect(made).toHaveLength(1);
    expect(said).toBe("Offline model: 17*23 = 391. It is 12:00.");
  });

  it("answers Chinese questions in Chinese", async () => {
    const { said } = await converse("计算 17*23", () => "391");
    expect(said).toBe("离线模型：17*23 = 391。");
  });

  it("adds its label once per conversation", async () => {
    const first = await converse("17*23", () => "391");
    const second = await converse("1+1", () => "2", first.messages);
    expect(second.said).toBe("1+1 = 2.");
  });

  it("uses the result of one task in another", async () => {
    const { said, made } = await converse("calculate 6*7 and save the result to answer.txt", (name) =>
      name === "calculator" ? "42" : "Created",
    );
    expect(made).toEqual([
      [["calculator", { expression: "6*7" }]],
      [["write_file", { path: "answer.txt", content: "42" }]],
    ]);
    expect(said).toBe("Offline model: 6*7 = 42. Wrote answer.txt.");
  });

  it.each<[string, ...string[]]>([
    ["write hello to b.txt and read b.txt", "write_file b.txt hello", "read_file b.txt"],
    ["write hello to a.txt and delete ./A.txt", "write_file a.txt hello", "delete_file ./A.txt"],
    ["read a.txt and delete a.txt", "read_file a.txt", "delete_file a.txt"],
    ["read a.txt and delete it", "read_file a.txt", "delete_file a.txt"],
    ["请读取 a.txt 并删除它", "read_file a.txt", "delete_file a.txt"],
    ["write hi to a.txt and list the files", "write_file a.txt hi", "list_files"],
    ["write 1 to a.txt and delete b.txt", "write_file a.txt 1, delete_file b.txt"],
    ["read a.txt and list the files", "read_file a.txt, list_files"],
    [
      "write 1 to a.txt and write 2 to a.txt and write 3 to b.txt",
      "write_file a.txt 1, write_file b.txt 3",
      "write_file a.txt 2",
    ],
    ["compute 6*7, save it to c.txt and read c.txt", "calculator", "write_file c.txt ok", "read_file c.txt"],
    ["write the result of 6*7 to r.txt", "calculator", "write_file r.txt ok"],
    ["把 3+4 的结果写入 sum.txt", "calculator", "write_file sum.txt ok"],
    ["save the current time to now.txt", "current_time", "write_file now.txt ok"],
    ["save the value of friendship to x.txt", "write_file x.txt the value of friendship"],
    ["read a.txt and save it to b.txt", "read_file a.txt", "write_file b.txt ok"],
    ["write hi to a.txt, compute 1+1 and save it to b.txt", "write_file a.txt hi, calculator", "write_file b.txt ok"],
  ])("runs calls one after the other if the order matters: %s", async (text, ...rounds) => {
    const { made } = await converse(text, () => "ok");
    const shown = (made as [string, Record<string, string>][][]).map((round) =>
      round.map(([name, { path, content }]) => [name, path, content].filter(Boolean).join(" ")).join(", "),
    );
    expect(shown).toEqual(rounds);
  });

  it("gives the same result as running the tasks in order, even if calls of a round overtake each other", async () => {
    const path = fc.constantFrom("a.txt", "b.txt", "c.txt");
    const words = fc.oneof(
      fc.tuple(fc.constantFrom("write 1 to", "write 2 to", "read", "delete"), path).map((pair) => pair.join(" ")),
      fc.constant("list the files"),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(words, { minLength: 1, maxLength: 8 }), async (asked) => {
        const inOrder = new Map<string, string>();
        const expected = asked.map((one) => {
          const [, verb = "", path = ""] = /^(\w+).*?(\S+)$/.exec(one) ?? [];
          return run(inOrder, verb, path, /\d/.exec(one)?.[0]);
        });
        const files = new Map<string, string>();
        const messages = [user(asked.join(" and "))];
        let said = "";
        while (said === "") {
          const { content, calls, text } = await ask(messages);
          said = text;
          const results = calls.toReversed().map(({ callId, name, input }) => {
            const { path, content: given } = input as { readonly path: string; readonly content?: string };
            const output = { type: "text" as const, value: run(files, name.split("_")[0] ?? "", path, given) };
            return { type: "tool-result" as const, toolCallId: callId, toolName: name, output };
          });
          messages.push({ role: "assistant", content }, { role: "tool", content: results });
        }
        expect(Object.fromEntries(files)).toEqual(Object.fromEntries(inOrder));
        expect(said.match(/<[^>]*>/g) ?? []).toEqual(expected.filter((_, n) => /^(?:read|list)/.test(asked[n] ?? "")));
      }),
    );
  });

  it("reports a refused call in the language of the question, with the reason", async () => {
    const refusal = "The user rejected this call; it was not run. Reason: 还要用";
    const results = (value: string): readonly ModelMessage[] => {
      const call = { toolCallId: "c", toolName: "delete_file" };
      return [
        user("删除 b.txt"),
        { role: "assistant", content: [{ type: "tool-call", ...call, input: {} }] },
        { role: "tool", content: [{ type: "tool-result", ...call, output: { type: "error-text", value } }] },
      ];
    };
    expect((await ask(results(refusal))).text).toBe("离线模型：用户已拒绝（删除 b.txt），未执行。原因：还要用。");
    expect((await ask(results("Approval for this call expired; it was not run."))).text).toBe(
      "离线模型：未及时获得同意（删除 b.txt），未执行。",
    );
  });

  it("reports that the user changed the arguments", async () => {
    const note = 'The user changed the arguments to {"path":"b.txt","content":"x"}.\n';
    const { said } = await converse("write x to a.txt", () => `${note}Created b.txt.`);
    expect(said).toBe("Offline model: The request was changed (write a.txt). Result: Created b.txt.");
  });

  it("reports the time in Chinese", async () => {
    const { said } = await converse("现在几点？", () => "Sunday, 2026-11-15, 20:31:30 in Asia/Shanghai (2026-…)");
    expect(said).toBe("离线模型：现在是 2026-11-15 星期日 20:31:30（Asia/Shanghai）。");
  });

  it("reports a refused or failed call and does not repeat it", async () => {
    const refused = await converse("delete file b.txt", () => "Error: The user rejected this call; it was not run.");
    expect(refused.made).toHaveLength(1);
    expect(refused.said).toContain("Not done (delete b.txt): Error: The user rejected");
    const half = await converse("compute 1/0 and save it to x.txt", () => "Error: division by zero");
    expect(half.made).toHaveLength(1);
    expect(half.said).toContain("Not done (write x.txt): a result it needs is missing.");
  });

  it("reports a missing tool", async () => {
    const { made, text } = await ask([user("17*23")], []);
    expect(made).toEqual([]);
    expect(text).toContain("Not done (17*23): the tool calculator is not available.");
    const without = await ask([user("17*23")], TOOLS, { toolChoice: "none" });
    expect(without.made).toEqual([]);
  });

  it("answers with JSON on request", async () => {
    const plain = await ask([user("Hello")], [], { responseFormat: {} });
    expect(JSON.parse(plain.text)).toEqual({ answer: expect.stringContaining("Offline model") as string });
    const { messages } = await converse("What is 17*23?", () => "391");
    const schema = {
      type: "object",
      properties: {
        summary: { type: "string" },
        value: { type: "integer" },
        sure: { type: "boolean" },
        kind: { enum: ["number", "text"] },
        notes: { type: "array", items: { type: "string" }, minItems: 1 },
        more: { anyOf: [{ type: "null" }, { type: "string" }] },
      },
    };
    const filled = await ask(messages.slice(0, -1), TOOLS, { responseFormat: { schema } });
    const summary = "Offline model: 17*23 = 391.";
    expect(JSON.parse(filled.text)).toEqual({
      summary,
      value: 391,
      sure: false,
      kind: "number",
      notes: [summary],
      more: null,
    });
  });

  it("makes a required call", async () => {
    const form = (properties: object, name = "final_answer") => tool(name, properties);
    const answer = form({ result: { type: "number" }, note: { type: "string", maxLength: 9 } });
    const toolChoice = { toolName: "final_answer" };
    const { messages } = await converse("What is 17*23 and what time is it?", (name) =>
      name === "calculator" ? "391" : "12:00",
    );
    const filled = [["final_answer", { result: 391, note: "17*23 = 3" }]];
    // User messages about the required format, after an answer or a result, are not the question.
    const note = user("That is not the required format. Give the answer by calling final_answer.");
    expect((await ask([...messages, note], [...TOOLS, answer], { toolChoice })).made).toEqual(filled);
    const results = [...messages.slice(0, -1), user("You have used all rounds.")];
    expect((await ask(results, [...TOOLS, answer], { toolChoice })).made).toMatchObject([
      ["final_answer", { result: 391 }],
    ]);
    // A required call is the one the message asks for, or one that only takes words; never an unrequested action.
    const required = { toolChoice: "required" };
    expect((await ask([user("1+1")], [...TOOLS, answer], required)).made).toEqual([
      ["calculator", { expression: "1+1" }],
    ]);
    expect((await ask([user("Hello")], [...TOOLS, answer], required)).made).toMatchObject([["final_answer", {}]]);
    expect((await ask([user("Hello")], TOOLS, required)).made).toEqual([]);
    expect((await ask([user("Hello")], TOOLS, { toolChoice: { toolName: "delete_file" } })).made).toEqual([]);
  });

  it("streams word by word after some reasoning, and counts tokens", async () => {
    const { recorded, usage } = await ask([user("17*23")]);
    const kinds = recorded.map(([what]) => what);
    expect(kinds.indexOf("reasoning")).toBe(1);
    expect(kinds.filter((what) => what === "input").length).toBeGreaterThan(2);
    expect(usage.completionTokens).toBeGreaterThan(5);
    const chinese = await ask([user("你好")]);
    const deltas = chinese.recorded.filter(([what]) => what === "text").map(([, delta]) => delta as string);
    expect(deltas.length).toBeGreaterThan(10);
  });

  it("waits delayMs before each delta and stops when cancelled", async () => {
    const model = new OfflineModel({ delayMs: 5 });
    const abort = new AbortController();
    const { listener } = recordListener({ onText: () => abort.abort() });
    const timers = vi.spyOn(globalThis, "setTimeout");
    const call = callModel(model, { messages: [user("Hello")] }, listener, { signal: abort.signal });
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    const pauses = timers.mock.calls.filter(([, ms]) => ms === 5);
    timers.mockRestore();
    expect(pauses).not.toEqual([]);
  });

  it("answers the prompts of a search faster", async () => {
    const listPauses = async (text: string): Promise<readonly unknown[]> => {
      const timers = vi.spyOn(globalThis, "setTimeout");
      await callModel(new OfflineModel({ delayMs: 10 }), { messages: [user(text)] }, recordListener().listener);
      const pauses = timers.mock.calls.map(([, ms]) => ms).filter((ms) => ms !== undefined && ms < 100);
      timers.mockRestore();
      return [...new Set(pauses)];
    };
    expect(await listPauses("Hello")).toEqual([10]);
    const thought = "Question:\nGame of 24: 4 9 10 13\n\nSteps so far:\n(none)\n\nWrite the next step only.";
    expect(await listPauses(thought)).toEqual([4]);
  });

  it("gives the same answer to the same prompt", async () => {
    const word = fc.constantFrom(
      ...'what is 1 + ( ) 23 * / save delete file a.txt to it 写入 把 几点 的 " “ ? \n'.split(" "),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string(),
          fc.array(word).map((words) => words.join(" ")),
        ),
        async (text) => {
          const { recorded, ...first } = await ask([user(text)]);
          const { recorded: recordedAgain, ...second } = await ask([user(text)]);
          expect(second).toEqual(first);
          expect(recordedAgain).toEqual(recorded);
          expect(first.text !== "" || first.made.length > 0).toBe(true);
        },
      ),
    );
  });

  it("uses its own seed or that of the call", async () => {
    const text = "Question:\nGame of 24: 4 9 10 13\n\nSteps so far:\n(none)\n\nWrite the next step only.";
    const sample = async (own: number | undefined, seed?: number): Promise<string> => {
      const model = new OfflineModel(own === undefined ? {} : { seed: own });
      const settings = seed === undefined ? {} : { settings: { seed } };
      return (await callModel(model, { messages: [user(text)], ...settings }, recordListener().listener)).text;
    };
    const seeds = Array.from({ length: 10 }, (_, seed) => seed);
    const own = await Promise.all(seeds.map((seed) => sample(seed)));
    expect(new Set(own).size).toBeGreaterThan(2);
    expect(await Promise.all(seeds.map((seed) => sample(99, seed)))).toEqual(own);
    expect(await sample(undefined)).toBe(own[1]);
  });

  // With a quadratic cost, the test would time out.
  it("reads long messages", async () => {
    const text = "write ".repeat(20_000) + "把".repeat(20_000) + "((((".repeat(20_000) + "1+".repeat(200_000);
    expect((await ask([user(text)])).text).not.toBe("");
  });
});
