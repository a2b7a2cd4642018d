// Tree of Thoughts plays the Game of 24 with the offline model, which proposes and rates real steps. Every answer is
// compared with an exhaustive search.
import { describe, expect, it } from "vitest";
import { agent, type AgentOptions } from "../../src/agents/index.ts";
import { RECEIVER_LIMITS } from "../../src/client/limits.ts";
import { SessionFold } from "../../src/client/view/session-fold.ts";
import { createLog, expectValid } from "../contracts/sender.ts";
import { rebuildTree } from "../contracts/tree-script.ts";
import { countSolutions, findMistake, readNumbers, SOLVABLE, UNSOLVABLE } from "./game-of-24.ts";
import { LONG, sampleCases } from "../sampling.ts";
import { eventsOf } from "./agent-fixture.ts";

/** All hundred puzzles in the long mode; otherwise one of the three known hard ones, two others, and an unsolvable one. */
const solvable = sampleCases(SOLVABLE, { kindOf: (_, index) => (index < 3 ? "hard" : `other ${index % 2}`) });
const unsolvable = sampleCases(UNSOLVABLE);

type Options = Omit<Extract<AgentOptions, { readonly kind: "tot" }>, "kind">;

/** Games by their puzzle and options: several tests look at the same ones. */
const games = new Map<string, ReturnType<typeof playOnce>>();

function play(puzzle: string, options: Options = {}): ReturnType<typeof playOnce> {
  const key = JSON.stringify([puzzle, options]);
  const game = games.get(key) ?? playOnce(puzzle, options);
  games.set(key, game);
  return game;
}

async function playOnce(puzzle: string, options: Options) {
  const log = await createLog();
  const player = agent({ provider: "offline", kind: "tot", ...options });
  await using session = await player.openSession(log, "table");
  const run = await player.answer(session, `Game of 24: ${puzzle}`);
  const { status } = await run.ended;
  const records = await expectValid(log, "table");
  const reply = eventsOf(records, "reply")[0]?.reply ?? "";
  const mistake = findMistake(reply, readNumbers(puzzle));
  const { size } = rebuildTree(records).thoughts;
  return { puzzle, status, reply, mistake, isSolved: mistake === undefined, thoughts: size, records };
}

describe("the exhaustive search", () => {
  it("finds which of the hundred puzzles can be solved", () => {
    expect([SOLVABLE.length, UNSOLVABLE.length]).toEqual([60, 40]);
    expect(new Set([...SOLVABLE, ...UNSOLVABLE]).size).toBe(100);
    for (const puzzle of SOLVABLE) expect([puzzle, countSolutions(readNumbers(puzzle)) > 0]).toEqual([puzzle, true]);
    for (const puzzle of UNSOLVABLE) expect([puzzle, countSolutions(readNumbers(puzzle))]).toEqual([puzzle, 0]);
  });

  it("tells right answers from wrong ones", () => {
    expect(findMistake("8 / (3 - 8 / 3) = 24, using each number once.", [3, 3, 8, 8])).toBeUndefined();
    expect(findMistake("It is (10 - 4) * (13 - 9) = 24.", [4, 9, 10, 13])).toBeUndefined();
    expect(findMistake("(10 - 4) * (13 - 8) = 24", [4, 9, 10, 13])).toContain("numbers");
    expect(findMistake("10 - 4 * (13 - 9) = 24", [4, 9, 10, 13])).toBe("10 - 4 * (13 - 9) is -6/1");
    expect(findMistake("4 * 9 - 10 / (13 - ) = 24", [4, 9, 10, 13])).toContain("cannot be parsed");
    expect(findMistake("I found no way to make 24.", [1, 1, 1, 1])).toContain("no expression");
  });
});

describe("Tree of Thoughts at the Game of 24", () => {
  it.each(["breadth", "depth"] as const)(
    "solves every solvable puzzle, in %s",
    async (strategy) => {
      for (const puzzle of solvable) {
        const { status, mistake, reply, thoughts, records } = await play(puzzle, { strategy });
        expect([puzzle, status, mistake, reply]).toEqual([puzzle, "completed", undefined, reply]);
        expect(eventsOf(records, "error")).toEqual([]);
        expect(thoughts).toBeLessThan(400);
      }
    },
    600_000,
  );

  it.each(["breadth", "depth"] as const)(
    "reports no solution for unsolvable puzzles, in %s",
    async (strategy) => {
      for (const puzzle of unsolvable) {
        const { status, isSolved, reply } = await play(puzzle, { strategy });
        expect([puzzle, status, isSolved]).toEqual([puzzle, "completed", false]);
        expect(reply).toMatch(/no way|cannot be made/u);
      }
    },
    600_000,
  );

  it.each(["breadth", "depth"] as const)("solves puzzles by votes, in %s", async (strategy) => {
    for (const puzzle of strategy === "breadth" ? ["3 3 8 8", "4 9 10 13"] : ["4 9 10 13"]) {
      const { mistake, reply } = await play(puzzle, { strategy, evaluate: "vote" });
      expect([puzzle, mistake, reply]).toEqual([puzzle, undefined, reply]);
    }
  });

  it("backtracks from dead branches and reports from where to where", async () => {
    const { records } = await play("3 3 8 8", { beam: 1 });
    const backtracks = eventsOf(records, "tot_backtrack");
    expect(backtracks.length).toBeGreaterThan(0);
    const { thoughts, path } = rebuildTree(records);
    for (const { from = "" } of backtracks) expect(thoughts.get(from)?.status).toBe("abandoned");
    for (const id of path) expect([id, thoughts.get(id)?.status]).toEqual([id, "kept"]);
  });

  it.each(["breadth", "depth"] as const)("can be rebuilt from its events, in %s", async (strategy) => {
    for (const puzzle of [...solvable.slice(0, 2), ...unsolvable.slice(0, 1)]) {
      const { records } = await play(puzzle, { strategy });
      const fold = new SessionFold("table", RECEIVER_LIMITS);
      for (const record of records) fold.apply(record, true);
      const { thoughts, path } = rebuildTree(records);
      const tree = fold.snapshot().turns[0]?.tree;
      expect(tree?.path).toEqual(path);
      expect(
        tree?.thoughts.map(({ id, text, parent, depth, score, status }) => [
          id,
          { text, parent, depth, score, status },
        ]),
      ).toEqual([...thoughts]);
    }
  });

  it.runIf(LONG)(
    "finds less with a narrow beam and no backtracking",
    async () => {
      const found = { greedy: 0, wide: 0 };
      for (const puzzle of SOLVABLE) {
        if ((await play(puzzle, { beam: 1, maxBacktracks: 0 })).isSolved) found.greedy++;
        if ((await play(puzzle, { beam: 5, maxBacktracks: 0 })).isSolved) found.wide++;
      }
      expect(found.greedy).toBeLessThan(found.wide);
    },
    600_000,
  );
});
