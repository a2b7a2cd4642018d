import { describe, expect, it } from "vitest";
import type { ModelMessage } from "../model.ts";
import { answerPrompt, type OfflineAnswer } from "./answer-prompt.ts";
import { ask, callsOf, TOOLS, user } from "./ask-offline.contract.ts";
import { findErrands } from "./find-errands.ts";

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

  // Whatever it is that has to wait: it is all there, as it would be without the wish.
  const requests = [
    "Draw a house",
    "Bar chart: a 1, b 2",
    "Make a todo list: milk, bread",
    "Make a table: Ann, 31; Bob, 29",
    "Calculate 2+2",
    "Write hello to a.txt",
    "Delete a.txt",
    "画一个圆",
    "待办清单：牛奶、面包",
    "计算 2+2",
    "删除 a.txt",
  ];
  const planned = (text: string): readonly unknown[] =>
    findErrands(text).map(({ tool, createInput }) => [tool, createInput(TOOLS[0]!, [])]);
  it.each(
    [
      ", but ask me first",
      ", but ask me before",
      " but please ask for my permission first",
      ", only after you get my approval",
      " only if I agree",
      ", ask me for approval",
      "，先征求我的同意",
      "，但要先问我",
      "，先问我",
      " 之前先问我",
    ].map((wish) => [wish]),
  )("before all else: …%s", (wish) => {
    for (const request of requests) {
      const [first, ...others] = planned(`${request}${wish}`);
      expect(first).toMatchObject(["ask_consent", {}]);
      expect([request, others]).toEqual([request, planned(request)]);
      expect(callsOf(`${request}${wish}`)).toEqual([expect.stringMatching(/^consent /)]);
    }
  });

  it("wherever the wish stands, and not where it is an item or a text", () => {
    expect(callsOf(`Draw a star. ${"x".repeat(9000)}. But ask me first.`)).toEqual(["consent May I go on?"]);
    expect(callsOf("todo list: get approval, ship it")).toEqual(["todo get approval | ship it"]);
    expect(callsOf('write "ask me first" to a.txt')).toEqual(["write_file a.txt ask me first"]);
    expect(planned("write ask me first to a.txt")).toMatchObject([["ask_consent", {}]]);
    expect(callsOf('Draw a 5" circle, but ask me first')).toEqual(["consent May I go on?"]);
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

  const AGREED = "The user agreed.";
  const REFUSED = "The user refused this call; it was not run.";
  it("about what needs no tool too", () => {
    const puzzle = "Ask me first. Game of 24: 4 9 10 13";
    expect(callsOf(puzzle)).toEqual(["consent May I go on?"]);
    expect(answered(puzzle, AGREED, "text").text).toContain("You agreed. (");
    expect(answered(puzzle, REFUSED, "error-text").text).toContain("I left that out (the puzzle), as nobody agreed.");
    const failure = "Ask me for approval, then cause an error";
    expect(answered(failure, AGREED, "text").error).toBeDefined();
    expect(answered(failure, REFUSED, "error-text").error).toBeUndefined();
    // A yes to something it does not know.
    expect(answered("Ask me first, then paint the garage door", AGREED, "text").text).toContain("none of them fits");
    expect(answered("请先征求我的同意", AGREED, "text").text).toBe("离线模型：你同意了。");
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
    "Make a todo list: fix the bug, throw an exception",
    "Every time I press the button, show me an error. What do I do?",
    "When the user clicks, throw an error!",
    "My app shows: throw an exception",
    'write "cause an error" to a.txt',
    "Compare pass and fail",
    "当用户点击时，报个错误",
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

  it.each(["Check the news", "Can you check this?", "I want to check out", "the work is done"])(
    "and says nothing of lists: %s",
    (text) => {
      expect(ask(text).text).not.toContain("to-do list here");
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
    ["what model are you?", /not a language model/],
    ["What does 你好 mean?", /^Offline model: I follow fixed rules, and none/],
    ["感谢信怎么写", /没有一条适用/],
    ["谢谢你的帮助", /^离线模型：不客气。$/],
    ["tell me a joke", /my only joke.*OPENAI_API_KEY/],
    ["write a poem", /My only poem:\n\n(?:.+ {2}\n){3}.+\n\nFor real answers/],
    ["写一首诗", /我只会这一首：\n\n(?:.+ {2}\n){3}.+\n\n要得到/],
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
    // In Markdown a line right below a list would be of its last item.
    expect(said).toMatch(/\n- .+\n\n[^-\n].+$/);
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

describe("the offline model tells the time", () => {
  it.each(["what year is it", "what day of the week is it", "What's the date today?", "请问现在几点？", "今天星期几"])(
    "now and here: %s",
    (text) => {
      expect(callsOf(text)).toEqual(["current_time"]);
    },
  );

  it.each([
    "现在内罗毕几点？",
    "内罗毕现在几点？",
    "what time is it in Nairobi",
    "明天星期几",
    "What time is it going to rain?",
    "Do not tell me the time",
  ])("and no other for it: %s", (text) => {
    expect(callsOf(text)).toEqual([]);
  });
});

describe("the offline model leaves out", () => {
  const asked = (text: string): string => answerPrompt([user(text)], []).text;

  it("no more than it says", () => {
    const sums = Array.from({ length: 10 }, (_, n) => `${n}+${n}`).join(", ");
    expect(asked(sums)).toMatch(/I do at most 8 things at once, and left out: 8\+8, 9\+9\.$/);
    expect(asked(`计算 ${sums.replaceAll(", ", "、")}`)).toContain("我一次最多做 8 件事，没有做：8+8，9+9。");
    expect(asked("draw a star. ".repeat(30))).toMatch(/, …\.$/);
    expect(asked(`hello ${"x ".repeat(4000)}`)).toContain("I have read only the first 4000 characters");
    expect(asked("hello")).not.toContain("4000");
  });

  it("no puzzle beside something else", () => {
    expect(asked("Game of 24: 4 9 10 13 and what time is it?")).toMatch(/current_time.* = 24, with every number/);
  });

  it.each([
    "Write a poem to poem.txt",
    "Write a report on tea to tea.txt",
    "Write a summary of err.txt to sum.txt",
    "Write something about cats to cats.txt",
    "把一首关于春天的诗写入 poem.txt",
  ])("what it would have to make up: %s", (text) => {
    const { calls, text: said } = ask(text);
    expect(calls).toEqual([]);
    expect(said).toMatch(/I cannot make up|我不会撰写/);
  });

  it.each<[string, ...string[]]>([
    ['Write "a poem" to poem.txt', "write_file poem.txt a poem"],
    ["Write down the time in log.txt", "current_time"],
    ["Save the table in t.csv: a 1, b 2"],
  ])("but not what was given: %s", (text, ...calls) => {
    expect(callsOf(text)).toEqual(calls);
  });
});

describe("the offline model, about lists", () => {
  it.each<[string, ...string[]]>([
    ["Do not make a todo list: a, b"],
    ["How do I make a todo list: milk, bread?"],
    ["不要列一个待办清单：牛奶、面包"],
    ["todo list: call Dr. Smith, buy milk", "todo call Dr. Smith | buy milk"],
    ["make a list of things to do in Paris", expect.stringMatching(/^todo Paris: Write down/) as string],
    ["make a todo list with 5 items", expect.stringMatching(/^todo Write down/) as string],
  ])("%s", (text, ...calls) => {
    expect(callsOf(text)).toEqual(calls);
  });
});

describe("the offline model takes little time", () => {
  it.each<[string, string, string]>([
    ["把", " ", "x"],
    ["", "把", ""],
    ["", "把x", ""],
    ["write ", " ", "x"],
    ["write ", "in ", "x"],
    ["", "write a in ", ""],
    ["create a.b with ", " ", "x"],
    ["delete a.b", ", a.b", ""],
    ["", "please ", "delete a.txt"],
    ["", "请", "删除 a.txt"],
    ["todo list: ", "- ", "get approval"],
    ["", "，但请", "先问我"],
    ["", ": ", "delete a.txt"],
    ["what ", "你,", "好"],
  ])("over %j and much of %j", (head, part, tail) => {
    for (const size of [3900, 100_000]) ask(`${head}${part.repeat(Math.ceil(size / part.length))}${tail}`);
  });
});
