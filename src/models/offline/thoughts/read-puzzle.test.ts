import { describe, expect, it } from "vitest";
import { toNumber } from "./fraction.ts";
import { readPuzzle } from "./read-puzzle.ts";

const read = (question: string): unknown => {
  const puzzle = readPuzzle(question);
  return puzzle && [puzzle.numbers.map(toNumber).join(" "), toNumber(puzzle.target)];
};

describe("a puzzle is found", () => {
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
  ])("in %j", (question, numbers, target) => {
    expect(read(question)).toEqual([numbers, target]);
  });

  it.each([
    "hello",
    "What is 17*23?",
    "Make 24 sandwiches",
    "Meet me at 3 点 on 4 5",
    "Game of Thrones, season 4, episodes 9 and 10",
    "The game of 24 is fun",
    "make 24 from 1 2 3 4 5 6 7 8",
    "2024-01-02 3 4",
    "我 10 点 20 分到",
  ])("and not in %j", (question) => {
    expect(read(question)).toBeUndefined();
  });

  it("in little time, whatever it is", () => {
    for (const part of ["4 ", "make 24 from ", "24点", "用 ", "and ", "1,", "game of ", "算"]) {
      readPuzzle(part.repeat(100_000 / part.length));
    }
  });
});
