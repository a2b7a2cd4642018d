import { describe, expect, it } from "vitest";
import type { ModelMessage } from "../model.ts";
import { answerPrompt, type OfflineAnswer } from "./answer-prompt.ts";
import { ask, callsOf, TOOLS, user } from "./ask-offline.contract.ts";

describe("the offline model asks first", () => {
  it.each<[string, string]>([
    ["ask me for approval", "consent May I go on?"],
    ["Ask for my permission before you delete everything.", "consent May I go on (delete everything)?"],
    ["calculate 2+2, but ask me first", "consent May I go on?"],
    ["write hi to a.txt and get my consent first", "consent May I go on?"],
    ["请先征求我的同意", "consent 可以继续吗？"],
    ["请先征求我的同意，再计算 3+4", "consent 可以继续吗（计算 3+4）？"],
    ["演示一下审批", "consent 可以继续吗？"],
  ])("%s", (text, call) => {
    // What else there is to do waits.
    expect(callsOf(text)).toEqual([call]);
  });

  const answered = (text: string, value: string, type: "text" | "error-text"): OfflineAnswer => {
    const call = { toolCallId: "c", toolName: "ask_consent" };
    return answerPrompt(
      [
        user(text),
        { role: "assistant", content: [{ type: "tool-call", ...call, input: {} }] },
        { role: "tool", content: [{ type: "tool-result", ...call, output: { type, value } }] },
      ],
      TOOLS,
    );
  };

  it("and goes on when the user agrees", () => {
    const text = "calculate 2+2 and 3+3, but ask me first";
    expect(answered(text, "The user agreed.", "text").calls).toEqual([
      { name: "calculator", input: { expression: "2+2" } },
      { name: "calculator", input: { expression: "3+3" } },
    ]);
  });

  it("and leaves the rest when not", () => {
    const refused = "The user refused this call; it was not run.";
    expect(answered("ask for approval, then calculate 2+2", refused, "error-text")).toMatchObject({
      calls: [],
      text: `Offline model: That did not happen (your consent): ${refused} I left that out (2+2), as nobody agreed.`,
    });
    expect(answered("请先征求我的同意，再计算 3+4", refused, "error-text").text).toBe(
      "离线模型：用户拒绝了（征求同意），所以没有执行。没有去做（3+4），因为没有得到同意。",
    );
  });

  it("and does nothing where it cannot ask", () => {
    const { calls, text } = answerPrompt(
      [user("ask for approval, then calculate 2+2")],
      TOOLS.filter(({ name }) => name !== "ask_consent"),
    );
    expect(calls).toEqual([]);
    expect(text).toContain("I left that out (2+2)");
  });
});

describe("the offline model fails", () => {
  it.each([
    "cause an error",
    "show me an error",
    "Please throw an exception!",
    "Could you simulate an error?",
    "I want to see an error",
    "fail please",
    "Fail.",
    "出个错",
    "给我报个错误看看",
    "请制造一个错误",
    "请失败一次",
  ])("when it is asked to: %s", (text) => {
    const { error, calls, text: said } = ask(text);
    expect(error).toMatch(/asked to|应要求/);
    expect(said).toMatch(/error|错误/);
    expect(calls).toEqual([]);
  });

  it("after what else there was to do", () => {
    expect(ask("what is 2+2? Then cause an error.")).toEqual({
      reasoning: "To do: 2+2 (calculator).",
      text: "",
      calls: [{ name: "calculator", input: { expression: "2+2" } }],
    });
  });

  it.each([
    "what does this error mean?",
    "I got an error",
    "an error occurred",
    "show me an error handling example",
    "Please show me the error.",
    "my code throws an error.",
    "there was a failure, please help",
    "how do I cause an error?",
    "the tests fail",
    "why did it crash?",
    "出错了怎么办？",
    "这个错误是什么意思？",
    "我的程序报错了",
    "别出错",
  ])("and not when errors are only spoken of: %s", (text) => {
    expect(ask(text).error).toBeUndefined();
  });
});

describe("the offline model ticks items", () => {
  const shown: readonly ModelMessage[] = [
    user("make a todo list"),
    {
      role: "tool",
      content: ["The list l1 is shown:\n1. [ ] milk\n2. [ ] rye bread\n3. [x] 买鸡蛋"].map((value) => ({
        type: "tool-result",
        toolCallId: "c",
        toolName: "write_todo_list",
        output: { type: "text", value },
      })),
    },
  ];

  it.each<[string, ...string[]]>([
    ["mark milk as done", "l1 1 true"],
    ["Tick off the bread", "l1 2 true"],
    ["mark milk and rye bread as done", "l1 1 true", "l1 2 true"],
    ["mark item 2 as done", "l1 2 true"],
    ["check off the second", "l1 2 true"],
    ["Milk is done", "l1 1 true"],
    ["mark 买鸡蛋 as not done", "l1 3 false"],
    ["untick milk", "l1 1 false"],
    ["把鸡蛋勾掉", "l1 3 true"],
    ["把第二项标记为完成", "l1 2 true"],
    ["鸡蛋买好了", "l1 3 true"],
  ])("of a list it has shown: %s", (text, ...ticks) => {
    expect(callsOf(text, shown)).toEqual(ticks.map((tick) => `update_todo_item ${tick}`));
  });

  it("of the latest list that has it, as it is now", () => {
    const told = (value: string): ModelMessage => ({
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "c", toolName: "write_todo_list", output: { type: "text", value } }],
    });
    const later = [
      ...shown,
      told("The list l2 is shown:\n1. [ ] tea\n2. [ ] milk"),
      told("The list l1 is shown:\n1. [ ] tea"),
    ];
    expect(callsOf("mark milk as done", later)).toEqual(["update_todo_item l2 2 true"]);
    expect(callsOf("mark tea as done", later)).toEqual(["update_todo_item l1 1 true"]);
    expect(callsOf("mark rye bread as done", later)).toEqual([]);
  });

  it.each(["mark tea as done", "the work is done", "I am done here", "The milk was bad and the party is done"])(
    "and no others: %s",
    (text) => {
      expect(callsOf(text, shown)).toEqual([]);
    },
  );

  it("and says so where there is no such list", () => {
    expect(ask("mark milk as done").text).toContain("I see no to-do list here with such an item.");
    expect(ask("把牛奶勾掉").text).toContain("这里没有含有这个条目的待办清单。");
  });
});

describe("the offline model talks", () => {
  it.each<[string, RegExp]>([
    ["thanks!", /^Offline model: You are welcome\.$/],
    ["bye", /Goodbye/],
    ["ok", /What shall I do next/],
    ["who are you?", /not a language model/],
    ["tell me a joke", /my only joke.*OPENAI_API_KEY/],
    ["write a poem", /My only poem/],
    ["谢谢", /^离线模型：不客气。$/],
    ["讲个笑话", /笑话/],
    ["draw a dog", /cannot draw that; what I can draw is: circle/],
    ["画一只猫", /我会画的有：圆/],
  ])("%s", (text, said) => {
    expect(ask(text).text).toMatch(said);
  });

  it.each<[string, RegExp]>([
    ["help", /Here is what I know\./],
    ["what can you do?", /Here is what I know\./],
    ["sing me the national budget", /none of them fits/],
    ["你能做什么", /我会的如下/],
    ["背诵圆周率", /没有一条适用/],
  ])("and gives examples: %s", (text, opening) => {
    const { text: said } = ask(text);
    expect(said).toMatch(opening);
    const examples = [...said.matchAll(/^- (.+)$/gm)].map(([, example = ""]) => example);
    expect(examples.length).toBeGreaterThan(7);
    // Each of them does what it says.
    for (const example of examples.filter((one) => !/^Mark milk|勾掉/.test(one))) {
      const { calls, error, text: answer } = ask(example);
      const done = calls.length + (error === undefined ? 0 : 1) + (/= 24/.test(answer) ? 1 : 0);
      expect([example, done]).toEqual([example, 1]);
    }
  });

  it("only of what it was given", () => {
    const { text } = answerPrompt([user("help")], [TOOLS[0]!]);
    expect(text).toContain("Without a key I can do arithmetic, play the Game of 24 and fail on request.");
    expect(text).not.toContain("chart");
    const none = answerPrompt([user("help")], []).text;
    expect(none).toContain("I was given no tool that I can use. Without one I can play the Game of 24 and fail on");
  });

  it.each([
    ["Game of 24: 4 9 10 13", "= 24, with every number used once."],
    ["make 24 from 1 1 1 1", "There is no way to make 24"],
    ["24点：4 7 8 8", "= 24，每个数正好用一次。"],
  ])("in puzzles: %s", (text, said) => {
    expect(ask(text)).toMatchObject({ calls: [], text: expect.stringContaining(said) as string });
  });

  it.each([
    ["what is two plus three", "2+3"],
    ["What is twenty-five times four?", "25*4"],
    ["one hundred minus one", "100-1"],
    ["三加五等于几", "3+5"],
    ["二十五乘以四是多少", "25*4"],
    ["一百零五减十", "105-10"],
  ])("in numbers too: %s", (text, expression) => {
    expect(ask(text).calls).toEqual([{ name: "calculator", input: { expression } }]);
  });
});
