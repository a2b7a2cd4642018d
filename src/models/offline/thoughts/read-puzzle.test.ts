import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toNumber } from "./fraction.ts";
import { readPuzzle } from "./read-puzzle.ts";

const read = (question: string): unknown => {
  const puzzle = readPuzzle(question);
  if (puzzle === undefined || "unread" in puzzle) return puzzle;
  return [puzzle.numbers.map(toNumber).join(" "), toNumber(puzzle.target), ...[puzzle.leftOut ?? []].flat()];
};

describe("readPuzzle", () => {
  it.each([
    ["Game of 24: 4 9 10 13", "4 9 10 13", 24],
    ["Solve the Game of 24 with the numbers 4, 9, 10 and 13.", "4 9 10 13", 24],
    ["game of 24\n1 5 5 5", "1 5 5 5", 24],
    ["24 game: 3 3 8 8", "3 3 8 8", 24],
    ["make 24 from 4, 9, 10, and 13", "4 9 10 13", 24],
    ["Can you get 10 using 1 2 3 4?", "1 2 3 4", 10],
    ["Use 4 9 10 13 to make 24", "4 9 10 13", 24],
    ["Use the numbers 2, 3 and 4 to reach 14!", "2 3 4", 14],
    ["4 9 10 13 -> 24", "4 9 10 13", 24],
    ["24点：4 9 10 13", "4 9 10 13", 24],
    ["24點 4 9 10 13".replace("點", "点"), "4 9 10 13", 24],
    ["二十四点：１ ５ ５ ５", "1 5 5 5", 24],
    ["用 4 7 8 8 算 24 点", "4 7 8 8", 24],
    ["用4、7、8、8怎么算出24？", "4 7 8 8", 24],
    ["用 3、4 和 5 得到 27", "3 4 5", 27],
    ["Make 100 from 1 2 3 4 5 6", "1 2 3 4 5 6", 100],
    ["Game of 24: A 2 3 Q", "1 2 3 12", 24],
    ["24点：J Q K A", "11 12 13 1", 24],
    ["Game of 24: 4, 9, ten, 13", "4 9 10 13", 24],
    ["24点：四 九 十 十三", "4 9 10 13", 24],
    ["24點：4 9 10 13", "4 9 10 13", 24],
    ["24 from 4 9 10 13", "4 9 10 13", 24],
    ["Solve 24: 4 9 10 13", "4 9 10 13", 24],
    ["Find an expression equal to 24 using 4, 9, 10, 13", "4 9 10 13", 24],
    ["combine 4, 9, 10 and 13 into 24", "4 9 10 13", 24],
    ["How can I make 24 with 4 9 10 13 using each number once?", "4 9 10 13", 24],
    ["Hello, can you solve the game of 24 for my homework: 4, 9, 10, 13? Thanks!", "4 9 10 13", 24],
    ["Game of 24 with the four numbers 4 9 10 13, please", "4 9 10 13", 24],
    ["Game of 24: 4 9 10 13, but ask me first", "4 9 10 13", 24],
    ["请先征求我的同意，再算24点：4 9 10 13", "4 9 10 13", 24],
  ])("finds a puzzle in %j", (question, numbers, target) => {
    expect(read(question)).toEqual([numbers, target]);
  });

  it.each([
    "hello",
    "What is 17*23?",
    "Make 24 sandwiches",
    "Meet me at 3 点 on 4 5",
    "Game of Thrones, season 4, episodes 9 and 10",
    "The game of 24 is fun",
    "Buses 3, 4 and 5 get 10 minutes late",
    "3, 4 and 5 get 10 minutes",
    "We reach 100 by 2 3 routes",
    "I make 20 of 3 4 kinds",
    "How do I get 10 with 3 4 friends?",
    "The game of 24 was invented in 1960 1970 or so",
    "用 3 天 4 夜到 5 个城市",
    "4 9 10 13",
    "2024-01-02 3 4",
    "我 10 点 20 分到",
  ])("finds none in %j", (question) => {
    expect(read(question)).toBeUndefined();
  });

  it.each([
    ["Game of 24: 4 9 10 13 and what time is it?", "and what time is it?"],
    ["What time is it? Game of 24: 4 9 10 13", "What time is it?"],
    ["Game of 24: 4 9 10 13. Game of 24: 3 3 8 8", "Game of 24: 3 3 8 8"],
    ["Make 24 from 4 9 10 13 and tell me a joke", "and tell me a joke"],
    ["24点：4 9 10 13，再讲个笑话", "再讲个笑话"],
  ])("returns the other request in %j", (question, leftOut) => {
    expect(read(question)).toEqual(["4 9 10 13", 24, leftOut]);
  });

  it.each([
    ["Game of 24", ""],
    ["Let's play 24!", ""],
    ["24点", ""],
    ["我们来玩24点吧", ""],
    ["Game of 24: -4 9 10 13", "-4 9 10 13"],
    ["make 24 from 1 2 3 4 5 6 7 8", "1 2 3 4 5 6 7 8"],
    ["Game of 24: 1.5 2 3 4", "1.5 2 3 4"],
    ["Game of 24: 4 9 foo 13.", "4 9 foo 13"],
    ["Game of 24: a 2 3 q", "a 2 3 q"],
    ["Game of 24: 4 9 10 13 and 3 3 8 8", "4 9 10 13 and 3 3 8 8"],
  ])("returns %j as unread", (question, unread) => {
    expect(read(question)).toEqual({ unread });
  });

  it("reads all numbers or none", () => {
    const readable = fc.constantFrom("4", "13", "0", "ten", "A", "K", "2026");
    const other = fc.constantFrom(
      "-4",
      "1.5",
      "1/2",
      "7x",
      "12345",
      "a",
      "minus 3",
      "foo 8",
      "5%",
      "(6)",
      "2^3",
      "#9",
      "- 3",
      "the four",
    );
    const items = fc.array(fc.oneof(readable, other), { minLength: 2, maxLength: 8 });
    const head = fc.constantFrom("Game of 24: ", "make 24 from ", "24点：", "24 game with ", "Solve 24: ");
    fc.assert(
      fc.property(head, items, fc.constantFrom(" ", ", ", "、", " and "), (words, given, between) => {
        const puzzle = readPuzzle(words + given.join(between));
        if (puzzle !== undefined && !("unread" in puzzle)) expect(puzzle.numbers).toHaveLength(given.length);
        if (given.every((item) => /^(?:\d{1,4}|ten|A|K)$/.test(item)) && given.length <= 6)
          expect(puzzle).toMatchObject({ target: { n: 24 } });
      }),
      { numRuns: 2000, seed: 24 },
    );
  });

  it("reads hostile input quickly", () => {
    for (const part of ["4 ", "make 24 from ", "24点", "用 ", "and ", "1,", "game of ", "算"]) {
      readPuzzle(part.repeat(100_000 / part.length));
    }
  });
});
