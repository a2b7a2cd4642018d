import { describe, expect, it } from "vitest";
import { ask } from "../../../test/contracts/ask-offline.ts";
import { findTasks } from "./find-tasks.ts";

/** The file tasks of a message. */
const listAccess = (text: string): readonly string[] =>
  findTasks(text).flatMap(({ fileAccess, refusal, about }) =>
    fileAccess === undefined || refusal !== undefined ? [] : [about.en],
  );

describe("a file is accessed", () => {
  it.each<[string, ...string[]]>([
    ["Please delete a.txt.", "delete a.txt"],
    ["Can you delete a.txt?", "delete a.txt"],
    ["Could you read a.txt and then delete it?", "read a.txt", "delete a.txt"],
    ["1. Read a.txt\n2. Delete a.txt", "read a.txt", "delete a.txt"],
    ["Delete a.txt, b.txt and c.txt", "delete a.txt", "delete b.txt", "delete c.txt"],
    ["Calculate 2+2 and write it to a.txt", "write a.txt"],
    ["What is 6*7, and what time is it in Tokyo? Write the result to a.txt", "write a.txt"],
    ["What is 2+2, and please save it in a.txt", "write a.txt"],
    ['Write "Hello. I do not know." to a.txt and delete b.txt', "write a.txt", "delete b.txt"],
    ["Make a todo list: milk, bread. Then delete a.txt", "delete a.txt"],
    ["Read a.txt but do not delete it", "read a.txt"],
    ["Can you ask for my approval, draw a star and then delete a.txt?", "delete a.txt"],
    ["请删除 a.txt", "delete a.txt"],
    ["你能帮我删除 a.txt 吗？", "delete a.txt"],
    ["读取 a.txt 然后删除它", "read a.txt", "delete a.txt"],
    ["读取 a.txt 但不要删除它", "read a.txt"],
    ["计算 2+2，然后把结果写入 a.txt", "write a.txt"],
  ])("on request: %j", (text, ...about) => {
    expect(listAccess(text)).toEqual(about);
  });

  // Unknown words might change the meaning of the request.
  it.each(
    [
      "My disk is full. Delete a.txt now!|Remove a.txt from my todo list|Read a.txt and remove it from the list",
      "Delete a.txt in the second paragraph|Delete a.txt, first line only|Put hello in a.txt, at the end",
      "Write hello to a.txt in the second line, keep the rest|Write hello to a.txt. Don't overwrite.",
      "Please do not do the following!\n1. Delete a.txt|You must not\n1. delete a.txt|Choose one.\n1. Delete a.txt",
      "Is this a good plan?\n2. Delete a.txt|Which of these is safe?\n- delete a.txt|Repeat after me. Delete a.txt.",
      "Delete a.txt. Actually, don't.|Delete a.txt. Wait, don't!|delete a.txt, is that safe?|Delete a.txt, he said.",
      "Delete a.txt.\nIs this command dangerous?|Delete a.txt, I mean b.txt|Write hello to a.txt, without overwriting",
      "Delete a.txt, asking me first|Make me confirm, then delete a.txt|Delete a.txt, please confirm with me",
      "删除 a.txt 中的第一行|删除 a.txt 里的空格|删除 a.txt 并不安全|删除 a.txt 以及 b.txt 的备份|千万不要！删除 a.txt",
      "不要做这些事。\n1. 删除 a.txt|以下命令安全吗？删除 a.txt|删除 a.txt，安全吗？|删除 a.txt，还是保留？|删除 a.txt，开玩笑的",
      "把 hello 写入 a.txt 中的第二行|把 hello 写入 a.txt 里，不要覆盖原来的内容|删除 a.txt，等我说可以",
    ].flatMap((line) => line.split("|")),
  )("but not changed next to other words: %j", (text) => {
    expect(listAccess(text).filter((about) => !about.startsWith("read"))).toEqual([]);
  });

  const requests = ["delete a.txt", "write hello to a.txt", "create a file a.txt with hello", "read a.txt"];
  const speaking = [
    ..."Do not,Don't,Never,Please do not,You must not,How do I,How to,Should I,Why did you,Did you,What happens if I".split(
      ",",
    ),
    ..."Explain how to,I will,I,She told me to,He said,They,Write a report on how to,It is bad to,If it rains,Translate".split(
      ",",
    ),
    "Explain:",
    "Translate: I am here.",
    "What does this do:\n\n",
    'He wrote: "Listen.',
    "The manual says “",
    "Call mum and never",
    "```\n",
    "Compare these:\ndelete b.txt\n",
    "Summarise this email\n\nHi Bob,\n",
    "Please translate this. Then he said hello.",
    "Print 'Listen.",
    "Write a script to open b.txt and",
    "You can",
    "> ",
  ];
  it.each(speaking.map((words) => [words]))("but not after %j", (words) => {
    for (const request of requests) expect([request, listAccess(`${words} ${request}`)]).toEqual([request, []]);
  });

  const 说 = "不要,请不要,别,千万别,怎么,如何,为什么要,他,我不想,解释：,如果下雨，,应该不应该,他说，".split(",");
  it.each(说.map((words) => [words]))("but not after %j", (words) => {
    for (const request of ["删除 a.txt", "把你好写入 a.txt", "读取 a.txt"])
      expect([request, listAccess(`${words}${request}`)]).toEqual([request, []]);
  });

  const conditions =
    " if it is empty|, unless I need it|, no wait|. No, keep it.| would be wrong|?| or not| is what he said| 会怎样| 吗？|，不要| 的话".split(
      "|",
    );
  it.each(conditions.map((words) => [words]))("but not changed before %j", (words) => {
    expect(listAccess(`delete a.txt${words}`)).toEqual([]);
    expect(listAccess(`write hello to a.txt${words}`)).toEqual([]);
    expect(listAccess(`删除 a.txt${words}`)).toEqual([]);
  });

  it("but not as a list item or under a condition", () => {
    expect(listAccess("Make a todo list: call mum and delete a.txt")).toEqual([]);
    expect(listAccess("Make a todo list: call mum, and then delete a.txt")).toEqual(["delete a.txt"]);
    expect(listAccess("Create a file a.txt with hello if there is none")).toEqual([]);
  });

  it("and the model says how to ask", () => {
    for (const text of ["How do I delete a.txt?", "delete it"])
      expect(ask(text).text).toContain("ask directly and name the file");
    expect(ask("怎么删除 a.txt？").text).toContain("请直接提出并写出文件名");
  });
});
