import { describe, expect, it } from "vitest";
import { findProject } from "./find-project.ts";
import { splitTask } from "./split-task.ts";

const languageOf = (text: string) => (/\p{Script=Han}/u.test(text) ? "zh" : "en");

describe("findProject", () => {
  it.each<[string, object]>([
    ["Write a report on tea", { kind: "report", subjects: ["tea"] }],
    [
      "Please prepare a short overview of solar power and wind power.",
      { kind: "report", subjects: ["solar power", "wind power"] },
    ],
    ["Analyse the market for bicycles", { kind: "report", subjects: ["the market for bicycles"] }],
    ["Compare cats and dogs", { kind: "compare", subjects: ["cats", "dogs"] }],
    ["Rust vs. Go", { kind: "compare", subjects: ["Rust", "Go"] }],
    [
      "What is the difference between tea, coffee and cocoa?",
      { kind: "compare", subjects: ["tea", "coffee", "cocoa"] },
    ],
    ["Plan a two-day trip to Rome", { kind: "plan", subject: "two-day trip to Rome", days: 2 }],
    ["Make a plan for moving house", { kind: "plan", subject: "moving house", days: 0 }],
    ["写一份关于茶的报告", { kind: "report", subjects: ["茶"] }],
    ["帮我写一篇关于太阳能和风能的文章", { kind: "report", subjects: ["太阳能", "风能"] }],
    ["比较猫和狗", { kind: "compare", subjects: ["猫", "狗"] }],
    ["猫和狗有什么区别？", { kind: "compare", subjects: ["猫", "狗"] }],
    ["规划一次北京三日游", { kind: "plan", subject: "北京三日游", days: 3 }],
    ["Plan a ten-day trip to Rome", { kind: "plan", subject: "ten-day trip to Rome", days: 7, isCut: true }],
    ["Compare my two options: rent, or buy.", { kind: "compare", subjects: ["rent", "buy"] }],
    ["Write a report on War and Peace", { kind: "report", subjects: ["War and Peace"] }],
    ["给我写一份个人报告", { kind: "report", subjects: ["个人"] }],
    ["Ask me first, then write a report on tea.", { kind: "report", subjects: ["tea"] }],
    ["Write a report on tea and cake, but ask me first", { kind: "report", subjects: ["tea", "cake"] }],
    ["Hello! Write a report on tea. Thanks!", { kind: "report", subjects: ["tea"] }],
    [
      "Write a report on tea and make a todo list: a, b",
      { kind: "report", subjects: ["tea"], leftOut: "and make a todo list: a, b" },
    ],
    ["Write a report on tea to tea.txt", { kind: "report", subjects: ["tea"], leftOut: "to tea.txt" }],
    [
      "Tell me a joke. Compare cats and dogs. Be brief!",
      { kind: "compare", subjects: ["cats", "dogs"], leftOut: "Tell me a joke. … Be brief!" },
    ],
    ["写一份关于茶的报告，再讲个笑话", { kind: "report", subjects: ["茶"], leftOut: "再讲个笑话" }],
  ])("finds a project in %j", (question, expected) => {
    expect(findProject(question, languageOf(question))).toEqual(expected);
  });

  it.each([
    "hello",
    "What is 2+2?",
    "What is the plan?",
    "I read the report",
    "你好",
    "我比较喜欢猫",
    "写一份报告",
    "24点：4 9 10 13",
  ])("finds none in %j", (question) => {
    expect(findProject(question, languageOf(question))).toBeUndefined();
  });

  it.each<[string, ...string[]]>([
    ["Background of cats and dogs", "Background of cats", "Background of dogs"],
    ["Arguments for and against tea", "Arguments for tea", "Arguments against tea"],
    ["Day 1: morning, afternoon and evening", "Day 1: morning", "Day 1: afternoon", "Day 1: evening"],
    ["What is 2+2 and what time is it?", "What is 2+2?", "what time is it?"],
    ["茶的优点和缺点", "茶的优点", "茶的缺点"],
    ["猫和狗的背景", "猫的背景", "狗的背景"],
    ["Background of tea"],
    ["Background of War and Peace"],
    ["Hello, how are you"],
    ["介绍猫"],
    [""],
  ])("splits %j into a task for each thing", (task, ...parts) => {
    expect(splitTask(task, languageOf(task)).map((part) => part.task)).toEqual(parts);
  });

  it("reads hostile input quickly", () => {
    for (const part of ["compare ", "report on ", "and ", "for and against ", "关于", "比较", "写", "的", "a ", ", "]) {
      const text = part.repeat(100_000 / part.length);
      for (const language of ["en", "zh"] as const) {
        findProject(text, language);
        splitTask(text, language);
      }
    }
  });
});
