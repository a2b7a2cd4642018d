import { describe, expect, it } from "vitest";
import type { ModelMessage } from "../model.ts";
import { answerPrompt, type OfflineAnswer } from "./answer-prompt.ts";
import { ask, callsOf, TOOLS, user } from "../../../test/contracts/ask-offline.ts";
import { findTasks } from "./find-tasks.ts";

describe("the offline model asks for approval", () => {
  it.each<[string, string]>([
    ["ask me for approval", "consent Continue?"],
    ["Ask for my permission before you delete everything.", "consent Continue (delete everything)?"],
    ["calculate 2+2, but ask me first", "consent Continue?"],
    ["write hi to a.txt and get my consent first", "consent Continue?"],
    ["请先征求我的同意", "consent 是否继续？"],
    ["请先征求我的同意，再计算 3+4", "consent 是否继续（计算 3+4）？"],
    ["演示一下审批", "consent 是否继续？"],
  ])("%s", (text, call) => {
    // Everything else waits.
    expect(callsOf(text)).toEqual([call]);
  });

  // The requests that wait stay the same with and without the request for approval.
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
    findTasks(text).map(({ tool, createInput }) => [tool, createInput(TOOLS[0]!, [])]);
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
  )("before everything else: …%s", (wish) => {
    for (const request of requests) {
      const [first, ...others] = planned(`${request}${wish}`);
      expect(first).toMatchObject(["ask_consent", {}]);
      expect([request, others]).toEqual([request, planned(request)]);
      expect(callsOf(`${request}${wish}`)).toEqual([expect.stringMatching(/^consent /)]);
    }
  });

  it("anywhere in the message, but not for a list item or a quotation", () => {
    expect(callsOf(`Draw a star. ${"x".repeat(9000)}. But ask me first.`)).toEqual(["consent Continue?"]);
    expect(callsOf("todo list: get approval, ship it")).toEqual(["todo get approval | ship it"]);
    expect(callsOf('write "ask me first" to a.txt')).toEqual(["write_file a.txt ask me first"]);
    expect(planned("write ask me first to a.txt")).toMatchObject([["ask_consent", {}]]);
    expect(callsOf('Draw a 5" circle, but ask me first')).toEqual(["consent Continue?"]);
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

  it("and continues when the user agrees", () => {
    const text = "calculate 2+2 and 3+3, but ask me first";
    expect(answered(text, "The user agreed.", "text").calls).toEqual([
      { name: "calculator", input: { expression: "2+2" } },
      { name: "calculator", input: { expression: "3+3" } },
    ]);
  });

  it("and skips the rest after a refusal", () => {
    const refused = "The user rejected this call; it was not run.";
    expect(answered("ask for approval, then calculate 2+2", refused, "error-text")).toMatchObject({
      calls: [],
      text: `Offline model: Not done (your approval): ${refused} Not done (2+2): not approved.`,
    });
    expect(answered("请先征求我的同意，再计算 3+4", refused, "error-text").text).toBe(
      "离线模型：用户已拒绝（征求同意），未执行。未执行（3+4）：未获同意。",
    );
  });

  const AGREED = "The user agreed.";
  const REFUSED = "The user rejected this call; it was not run.";
  it("for requests that need no tool", () => {
    const puzzle = "Ask me first. Game of 24: 4 9 10 13";
    expect(callsOf(puzzle)).toEqual(["consent Continue?"]);
    expect(answered(puzzle, AGREED, "text").text).toContain("Approved. (");
    expect(answered(puzzle, REFUSED, "error-text").text).toContain("Not done (the puzzle): not approved.");
    const failure = "Ask me for approval, then cause an error";
    expect(answered(failure, AGREED, "text").error).toBeDefined();
    expect(answered(failure, REFUSED, "error-text").error).toBeUndefined();
    // An approval for something it does not know.
    expect(answered("Ask me first, then paint the garage wall", AGREED, "text").text).toContain("none matches this");
    expect(answered("请先征求我的同意", AGREED, "text").text).toBe("离线模型：已同意。");
  });

  it("and does nothing if it cannot ask", () => {
    const { calls, text } = answerPrompt(
      [user("ask for approval, then calculate 2+2")],
      TOOLS.filter(({ name }) => name !== "ask_consent"),
    );
    expect(calls).toEqual([]);
    expect(text).toContain("Not done (2+2): not approved.");
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
  ])("on request: %s", (text) => {
    const { error, calls, text: said } = ask(text);
    expect(error).toMatch(/on request|按要求/);
    expect(said).toMatch(/error|错误/);
    expect(calls).toEqual([]);
  });

  it("after the other requests", () => {
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
  ])("but not when errors are only mentioned: %s", (text) => {
    expect(ask(text).error).toBeUndefined();
  });
});

describe("the offline model checks off items", () => {
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
  ])("of a list in the conversation: %s", (text, ...ticks) => {
    expect(callsOf(text, shown)).toEqual(ticks.map((tick) => `update_todo_item ${tick}`));
  });

  it("of the latest list that has the item, in its latest version", () => {
    const shownAs = (value: string): ModelMessage => ({
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "c", toolName: "write_todo_list", output: { type: "text", value } }],
    });
    const later = [
      ...shown,
      shownAs("The list l2 is shown:\n1. [ ] tea\n2. [ ] milk"),
      shownAs("The list l1 is shown:\n1. [ ] tea"),
    ];
    expect(callsOf("mark milk as done", later)).toEqual(["update_todo_item l2 2 true"]);
    expect(callsOf("mark tea as done", later)).toEqual(["update_todo_item l1 1 true"]);
    expect(callsOf("mark rye bread as done", later)).toEqual([]);
  });

  it.each(["mark tea as done", "the work is done", "I am done here", "The milk was bad and the party is done"])(
    "but no others: %s",
    (text) => {
      expect(callsOf(text, shown)).toEqual([]);
    },
  );

  it.each(["Check the news", "Can you check this?", "I want to check out", "the work is done"])(
    "but ignores other messages: %s",
    (text) => {
      expect(ask(text).text).not.toContain("to-do list here");
    },
  );

  it("and says if there is no such list", () => {
    expect(ask("mark milk as done").text).toContain("No to-do list here has this item.");
    expect(ask("把牛奶勾掉").text).toContain("没有待办清单包含这个条目。");
  });
});

describe("the offline model answers small talk", () => {
  it.each<[string, RegExp]>([
    ["thanks!", /^Offline model: You're welcome\.$/],
    ["bye", /Goodbye/],
    ["ok", /What should I do next/],
    ["who are you?", /not a language model/],
    ["what model are you?", /not a language model/],
    ["What does 你好 mean?", /^Offline model: I follow fixed rules, and none/],
    ["感谢信怎么写", /没有匹配的规则/],
    ["谢谢你的帮助", /^离线模型：不客气。$/],
    ["tell me a joke", /my only joke.*OPENAI_API_KEY/],
    ["write a poem", /My only poem:\n\n(?:.+ {2}\n){3}.+\n\nFor real answers/],
    ["写一首诗", /我只会这一首：\n\n(?:.+ {2}\n){3}.+\n\n如需/],
    ["谢谢", /^离线模型：不客气。$/],
    ["讲个笑话", /笑话/],
    ["draw a dog", /cannot draw that\. I can draw: circle/],
    ["画一只猫", /我会画：圆/],
  ])("%s", (text, said) => {
    expect(ask(text).text).toMatch(said);
  });

  it.each<[string, RegExp]>([
    ["help", /^Offline model: Sure\. I can do arithmetic, /],
    ["what can you do?", /^Offline model: Sure\. I can do arithmetic, /],
    ["sing me the national budget", /none matches this/],
    ["你能做什么", /^离线模型：好的。我可以：/],
    ["背诵圆周率", /没有匹配的规则/],
  ])("with examples: %s", (text, opening) => {
    const { text: said } = ask(text);
    expect(said).toMatch(opening);
    const examples = [...said.matchAll(/^- (.+)$/gm)].map(([, example = ""]) => example);
    expect(examples.length).toBeGreaterThan(7);
    // In Markdown, a line directly below a list belongs to its last item.
    expect(said).toMatch(/\n- .+\n\n[^-\n].+$/);
    // Every example works.
    for (const example of examples.filter((one) => !/^Mark milk|勾掉/.test(one))) {
      const { calls, error, text: answer } = ask(example);
      const done = calls.length + (error === undefined ? 0 : 1) + (/= 24/.test(answer) ? 1 : 0);
      expect([example, done]).toEqual([example, 1]);
    }
  });

  it("and lists only abilities with an available tool", () => {
    const { text } = answerPrompt([user("help")], [TOOLS[0]!]);
    expect(text).toContain("I can do arithmetic, play the Game of 24 and fail on request.");
    expect(text).not.toContain("chart");
    const none = answerPrompt([user("help")], []).text;
    expect(none).toContain("No tools are available. I can play the Game of 24 and fail on request.");
  });

  it.each([
    ["Game of 24: 4 9 10 13", "= 24, using each number once."],
    ["make 24 from 1 1 1 1", "24 cannot be made from 1 1 1 1"],
    ["24点：4 7 8 8", "= 24，每个数正好用一次。"],
  ])("and puzzles: %s", (text, said) => {
    expect(ask(text)).toMatchObject({ calls: [], text: expect.stringContaining(said) as string });
  });

  it.each([
    ["what is two plus three", "2+3"],
    ["What is twenty-five times four?", "25*4"],
    ["one hundred minus one", "100-1"],
    ["三加五等于几", "3+5"],
    ["二十五乘以四是多少", "25*4"],
    ["一百零五减十", "105-10"],
  ])("and calculations in words: %s", (text, expression) => {
    expect(ask(text).calls).toEqual([{ name: "calculator", input: { expression } }]);
  });
});

describe("the offline model reports the time", () => {
  it.each(["what year is it", "what day of the week is it", "What's the date today?", "请问现在几点？", "今天星期几"])(
    "here and now: %s",
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
  ])("but not of other places or days: %s", (text) => {
    expect(callsOf(text)).toEqual([]);
  });
});

describe("the offline model skips", () => {
  const asked = (text: string): string => answerPrompt([user(text)], []).text;

  it("tasks beyond the limit, and says so", () => {
    const sums = Array.from({ length: 10 }, (_, n) => `${n}+${n}`).join(", ");
    expect(asked(sums)).toMatch(/I handle at most 8 requests per message\. Not done: 8\+8, 9\+9\.$/);
    expect(asked(`计算 ${sums.replaceAll(", ", "、")}`)).toContain("我一次最多处理 8 个请求，未处理：8+8，9+9。");
    expect(asked("draw a star. ".repeat(30))).toMatch(/, …\.$/);
    expect(asked(`hello ${"x ".repeat(4000)}`)).toContain("I read only the first 4000 characters");
    expect(asked("hello")).not.toContain("4000");
  });

  it("no puzzle next to other requests", () => {
    expect(asked("Game of 24: 4 9 10 13 and what time is it?")).toMatch(/current_time.* = 24, using each number/);
  });

  it.each([
    "Write a poem to poem.txt",
    "Write a report on tea to tea.txt",
    "Write a summary of err.txt to sum.txt",
    "Write something about cats to cats.txt",
    "把一首关于春天的诗写入 poem.txt",
  ])("content it would have to compose: %s", (text) => {
    const { calls, text: said } = ask(text);
    expect(calls).toEqual([]);
    expect(said).toMatch(/I cannot compose|我不会创作/);
  });

  it.each<[string, ...string[]]>([
    ['Write "a poem" to poem.txt', "write_file poem.txt a poem"],
    ["Write down the time in log.txt", "current_time"],
    ["Save the table in t.csv: a 1, b 2"],
  ])("but writes given content: %s", (text, ...calls) => {
    expect(callsOf(text)).toEqual(calls);
  });
});

describe("the offline model writes lists", () => {
  it.each<[string, ...string[]]>([
    ["Do not make a todo list: a, b"],
    ["How do I make a todo list: milk, bread?"],
    ["不要列一个待办清单：牛奶、面包"],
    ["todo list: call Dr. Smith, buy milk", "todo call Dr. Smith | buy milk"],
    ["make a list of things to do in Paris", expect.stringMatching(/^todo Paris: List what/) as string],
    ["make a todo list with 5 items", expect.stringMatching(/^todo List what/) as string],
  ])("%s", (text, ...calls) => {
    expect(callsOf(text)).toEqual(calls);
  });
});

describe("the offline model reads hostile input quickly", () => {
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
  ])("%j and many %j", (head, part, tail) => {
    for (const size of [3900, 100_000]) ask(`${head}${part.repeat(Math.ceil(size / part.length))}${tail}`);
  });
});
