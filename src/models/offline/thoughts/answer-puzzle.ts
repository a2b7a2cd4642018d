/**
 * Answers the prompts of a tree search for a Game of 24: proposes moves, judges the remaining numbers, and writes the
 * answer. It claims that there is no solution only if that is certain, and names other requests of the message.
 */
import type { OfflineLanguage } from "../offline-task.ts";
import { type Fraction, isSame, writeFraction } from "./fraction.ts";
import { isTooSmall, type PuzzleJudgement, judgeLeft } from "./judge-puzzle.ts";
import { pseudoRandom } from "./pseudo-random.ts";
import { proposeMoves } from "./propose-moves.ts";
import { followSteps, type PuzzleNumber, sortNumbers, writeMove, writeNumbers } from "./puzzle-steps.ts";
import type { Puzzle } from "./read-puzzle.ts";
import type { ThoughtStep, TreeRequest } from "./read-thought.ts";
import { describeLeftOut } from "./write-outline.ts";

/** The reasoning and the text of an answer. */
export interface PuzzleAnswer {
  readonly reasoning: string;
  readonly text: string;
}

export function answerPuzzle(
  puzzle: Puzzle,
  request: TreeRequest,
  seed: number,
  language: OfflineLanguage,
): PuzzleAnswer {
  switch (request.kind) {
    case "propose":
      return proposeSteps(puzzle, request.steps, request.max, language);
    case "sample":
      return sampleStep(puzzle, request.steps, seed, language);
    case "value":
      return valueSteps(puzzle, request.steps, seed, language);
    case "vote":
      return vote(puzzle, request.candidates, seed, language);
    case "conclude":
      return { reasoning: "", text: concludePuzzle(puzzle, request.steps, language) };
  }
}

function proposeSteps(
  puzzle: Puzzle,
  steps: readonly ThoughtStep[],
  max: number,
  language: OfflineLanguage,
): PuzzleAnswer {
  const left = listLeft(puzzle, steps);
  const moves = left === undefined ? [] : proposeMoves(left, puzzle.target, max);
  return {
    reasoning: left === undefined ? "" : describeNumbers(left, language),
    text: moves.length === 0 ? NO_STEP[language] : moves.map((move) => writeMove(move, language)).join("\n"),
  };
}

const NO_STEP = { en: "No next step.", zh: "没有下一步。" };
/** How many of the best moves a sample is drawn from. */
const SAMPLED = 8;

/** Draws a move; better ones are more likely. */
function sampleStep(
  puzzle: Puzzle,
  steps: readonly ThoughtStep[],
  seed: number,
  language: OfflineLanguage,
): PuzzleAnswer {
  const left = listLeft(puzzle, steps);
  const moves = left === undefined ? [] : proposeMoves(left, puzzle.target, SAMPLED);
  const draw = pseudoRandom(seed, `sample|${left === undefined ? "" : writeNumbers(left)}`);
  const move = moves[Math.floor(draw * draw * moves.length)];
  return {
    reasoning: left === undefined ? "" : describeNumbers(left, language),
    text: move === undefined ? NO_STEP[language] : writeMove(move, language),
  };
}

function valueSteps(
  puzzle: Puzzle,
  steps: readonly ThoughtStep[],
  seed: number,
  language: OfflineLanguage,
): PuzzleAnswer {
  const left = listLeft(puzzle, steps);
  const judgement = left === undefined ? WRONG : judgeLeft(left, puzzle.target, seed);
  const score = JSON.stringify({ score: judgement.score, solved: judgement.verdict === "solved" });
  return { reasoning: "", text: `${describeJudgement(left, judgement, puzzle, language)}\n${score}` };
}

/** The judgement of an invalid step. */
const WRONG: PuzzleJudgement = { score: 0, verdict: "impossible", tried: [] };

function vote(
  puzzle: Puzzle,
  candidates: readonly (readonly ThoughtStep[])[],
  seed: number,
  language: OfflineLanguage,
): PuzzleAnswer {
  let best = { number: 1, left: undefined as readonly Fraction[] | undefined, judgement: WRONG };
  for (const [index, steps] of candidates.entries()) {
    const left = listLeft(puzzle, steps);
    const judgement = left === undefined ? WRONG : judgeLeft(left, puzzle.target, seed);
    if (judgement.score > best.judgement.score) best = { number: index + 1, left, judgement };
  }
  const { number, left, judgement } = best;
  const why = describeJudgement(left, judgement, puzzle, language);
  const choice = JSON.stringify({ best: number, solved: judgement.verdict === "solved" });
  const named = language === "zh" ? `候选 ${number}：${why}` : `Candidate ${number}: ${why}`;
  return { reasoning: "", text: `${named}\n${choice}` };
}

function listLeft(puzzle: Puzzle, steps: readonly ThoughtStep[]): readonly Fraction[] | undefined {
  const items = follow(puzzle, steps);
  return items === undefined ? undefined : sortNumbers(items.map(({ value }) => value));
}

function follow(puzzle: Puzzle, steps: readonly ThoughtStep[]): readonly PuzzleNumber[] | undefined {
  return followSteps(
    puzzle,
    steps.map(({ text }) => text),
  );
}

function describeNumbers(left: readonly Fraction[], language: OfflineLanguage): string {
  return language === "zh" ? `剩下：${writeNumbers(left)}。` : `Left: ${writeNumbers(left)}.`;
}

function describeJudgement(
  left: readonly Fraction[] | undefined,
  { verdict, tried }: PuzzleJudgement,
  { target }: Puzzle,
  language: OfflineLanguage,
): string {
  const isChinese = language === "zh";
  if (left === undefined) return isChinese ? "这一步无效。" : "Invalid step.";
  const aim = writeFraction(target);
  const ways = tried.join("; ");
  const said = {
    solved: { en: `Solved: ${aim}.`, zh: `已解出：${aim}。` },
    sure: { en: `${ways}: sure.`, zh: `${ways}：可行。` },
    likely: { en: `${ways}: likely.`, zh: `${ways}：很可能可行。` },
    unclear: { en: `Tried ${ways}: unclear.`, zh: `试了 ${ways}：不确定。` },
    impossible:
      left.length === 1
        ? { en: `Not ${aim}: impossible.`, zh: `不是 ${aim}：不可能。` }
        : { en: `Tried every combination (${ways}, …): impossible.`, zh: `所有组合都试过（${ways}……）：不可能。` },
    too_small: { en: `Too small for ${aim}: impossible.`, zh: `太小，得不到 ${aim}：不可能。` },
  }[verdict][language];
  return isChinese ? `${describeNumbers(left, language)}${said}` : `${describeNumbers(left, language)} ${said}`;
}

/** `isAll`: whether every combination was tried. */
export function concludePuzzle(
  puzzle: Puzzle,
  steps: readonly ThoughtStep[],
  language: OfflineLanguage,
  isAll = isUnsolvable(puzzle),
): string {
  const outcome = describeOutcome(puzzle, steps, language, isAll);
  return [outcome, describeLeftOut(puzzle.leftOut, language)].join(language === "zh" ? "" : " ").trim();
}

/** Whether a quick check proves that there is no solution. */
function isUnsolvable({ numbers, target }: Puzzle): boolean {
  return judgeLeft(numbers, target, 1).verdict === "impossible";
}

function describeOutcome(
  puzzle: Puzzle,
  steps: readonly ThoughtStep[],
  language: OfflineLanguage,
  isAll: boolean,
): string {
  const items = follow(puzzle, steps);
  const [made] = items ?? [];
  const aim = writeFraction(puzzle.target);
  const isChinese = language === "zh";
  if (items?.length === 1 && made !== undefined && isSame(made.value, puzzle.target)) {
    const sum = `${made.expression} = ${aim}`;
    return isChinese ? `${sum}，每个数正好用一次。` : `${sum}, using each number once.`;
  }
  const given = writeNumbers(puzzle.numbers);
  if (isTooSmall(puzzle.numbers, puzzle.target)) {
    return isChinese
      ? `${given} 算不出 ${aim}：数字太小。`
      : `${aim} cannot be made from ${given}: the numbers are too small.`;
  }
  if (isAll) {
    return isChinese
      ? `${given} 算不出 ${aim}：所有组合都试过了。`
      : `${aim} cannot be made from ${given}: I tried every combination.`;
  }
  const found = isChinese ? `没有找到用 ${given} 算出 ${aim} 的方法。` : `I found no way to make ${aim} from ${given}.`;
  return [found, describeProgress(items, steps, language), NOT_SURE[language]]
    .filter((part) => part !== "")
    .join(isChinese ? "" : " ");
}

const NOT_SURE = {
  en: "I did not try every combination, so there may be one.",
  zh: "我没有试遍所有组合，所以仍可能有解。",
};

function describeProgress(
  items: readonly PuzzleNumber[] | undefined,
  steps: readonly ThoughtStep[],
  language: OfflineLanguage,
): string {
  const isChinese = language === "zh";
  if (items === undefined || steps.length === 0) {
    return isChinese ? "试过的分支都走不通。" : "Every branch I tried is a dead end.";
  }
  const sums = items.map(({ value, expression }) =>
    expression === writeFraction(value) ? expression : `${expression} = ${writeFraction(value)}`,
  );
  return isChinese ? `最接近的尝试：${sums.join("，")}。` : `Closest attempt: ${sums.join(", ")}.`;
}
