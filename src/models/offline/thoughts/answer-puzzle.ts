/**
 * The offline model at a Game of 24: it proposes moves, judges what is left, and writes the answer from the steps that
 * were found. Where no way was found it says so, and does not claim that there is none unless it knows; what else was
 * asked for is named, not passed over.
 */
import type { Language } from "../errand.ts";
import { type Fraction, isSame, writeFraction } from "./fraction.ts";
import { isTooSmall, type Judgement, judgeLeft } from "./judge-puzzle.ts";
import { drawNumber } from "./draw-number.ts";
import { proposeMoves } from "./propose-moves.ts";
import { followSteps, type Item, sortNumbers, writeMove, writeNumbers } from "./puzzle-steps.ts";
import type { Puzzle } from "./read-puzzle.ts";
import type { ThoughtStep, TreeRequest } from "./read-thought.ts";
import { sayLeftOut } from "./write-outline.ts";

/** What it thinks, and what it says. */
export interface Said {
  readonly reasoning: string;
  readonly text: string;
}

export function answerPuzzle(puzzle: Puzzle, request: TreeRequest, seed: number, language: Language): Said {
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

function proposeSteps(puzzle: Puzzle, steps: readonly ThoughtStep[], max: number, language: Language): Said {
  const left = listLeft(puzzle, steps);
  const moves = left === undefined ? [] : proposeMoves(left, puzzle.target, max);
  return {
    reasoning: left === undefined ? "" : sayLeft(left, language),
    text: moves.length === 0 ? NO_STEP[language] : moves.map((move) => writeMove(move, language)).join("\n"),
  };
}

const NO_STEP = { en: "There is no next step.", zh: "没有下一步。" };
/** Of the moves that look best, each may be the one. */
const SAMPLED = 8;

/** The better ones more often. */
function sampleStep(puzzle: Puzzle, steps: readonly ThoughtStep[], seed: number, language: Language): Said {
  const left = listLeft(puzzle, steps);
  const moves = left === undefined ? [] : proposeMoves(left, puzzle.target, SAMPLED);
  const draw = drawNumber(seed, `sample|${left === undefined ? "" : writeNumbers(left)}`);
  const move = moves[Math.floor(draw * draw * moves.length)];
  return {
    reasoning: left === undefined ? "" : sayLeft(left, language),
    text: move === undefined ? NO_STEP[language] : writeMove(move, language),
  };
}

function valueSteps(puzzle: Puzzle, steps: readonly ThoughtStep[], seed: number, language: Language): Said {
  const left = listLeft(puzzle, steps);
  const judgement = left === undefined ? WRONG : judgeLeft(left, puzzle.target, seed);
  const score = JSON.stringify({ score: judgement.score, solved: judgement.verdict === "solved" });
  return { reasoning: "", text: `${sayJudgement(left, judgement, puzzle, language)}\n${score}` };
}

/** A step that is none. */
const WRONG: Judgement = { score: 0, verdict: "impossible", tried: [] };

function vote(puzzle: Puzzle, candidates: readonly (readonly ThoughtStep[])[], seed: number, language: Language): Said {
  let best = { number: 1, left: undefined as readonly Fraction[] | undefined, judgement: WRONG };
  for (const [index, steps] of candidates.entries()) {
    const left = listLeft(puzzle, steps);
    const judgement = left === undefined ? WRONG : judgeLeft(left, puzzle.target, seed);
    if (judgement.score > best.judgement.score) best = { number: index + 1, left, judgement };
  }
  const { number, left, judgement } = best;
  const why = sayJudgement(left, judgement, puzzle, language);
  const choice = JSON.stringify({ best: number, solved: judgement.verdict === "solved" });
  const named = language === "zh" ? `候选 ${number}：${why}` : `Candidate ${number}. ${why}`;
  return { reasoning: "", text: `${named}\n${choice}` };
}

function listLeft(puzzle: Puzzle, steps: readonly ThoughtStep[]): readonly Fraction[] | undefined {
  const items = follow(puzzle, steps);
  return items === undefined ? undefined : sortNumbers(items.map(({ value }) => value));
}

function follow(puzzle: Puzzle, steps: readonly ThoughtStep[]): readonly Item[] | undefined {
  return followSteps(
    puzzle,
    steps.map(({ text }) => text),
  );
}

function sayLeft(left: readonly Fraction[], language: Language): string {
  return language === "zh" ? `剩下：${writeNumbers(left)}。` : `Left: ${writeNumbers(left)}.`;
}

function sayJudgement(
  left: readonly Fraction[] | undefined,
  { verdict, tried }: Judgement,
  { target }: Puzzle,
  language: Language,
): string {
  const isChinese = language === "zh";
  if (left === undefined) return isChinese ? "这一步不成立。" : "That step cannot be made.";
  const aim = writeFraction(target);
  const ways = tried.join("; ");
  const said = {
    solved: { en: `That is ${aim}: solved.`, zh: `这就是 ${aim}：已解出。` },
    sure: { en: `${ways}: sure.`, zh: `${ways}：肯定可行。` },
    likely: { en: `${ways}: likely.`, zh: `${ways}：很可能可行。` },
    unclear: { en: `Tried ${ways}: not yet, but not ruled out.`, zh: `试了 ${ways}：还没有，但不能排除。` },
    impossible:
      left.length === 1
        ? { en: `That is not ${aim}: impossible.`, zh: `这不是 ${aim}：不可能。` }
        : { en: `Tried every way (${ways}, …): impossible.`, zh: `所有算法都试过（${ways}……）：不可能。` },
    too_small: { en: `Too small to reach ${aim}: impossible.`, zh: `太小，到不了 ${aim}：不可能。` },
  }[verdict][language];
  return isChinese ? `${sayLeft(left, language)}${said}` : `${sayLeft(left, language)} ${said}`;
}

/** `isAll`: every way was tried. */
export function concludePuzzle(
  puzzle: Puzzle,
  steps: readonly ThoughtStep[],
  language: Language,
  isAll = isDead(puzzle),
): string {
  const outcome = sayOutcome(puzzle, steps, language, isAll);
  return [outcome, sayLeftOut(puzzle.leftOut, language)].join(language === "zh" ? "" : " ").trim();
}

/** At a glance, and for certain. */
function isDead({ numbers, target }: Puzzle): boolean {
  return judgeLeft(numbers, target, 1).verdict === "impossible";
}

function sayOutcome(puzzle: Puzzle, steps: readonly ThoughtStep[], language: Language, isAll: boolean): string {
  const items = follow(puzzle, steps);
  const [made] = items ?? [];
  const aim = writeFraction(puzzle.target);
  const isChinese = language === "zh";
  if (items?.length === 1 && made !== undefined && isSame(made.value, puzzle.target)) {
    const sum = `${made.expression} = ${aim}`;
    return isChinese ? `${sum}，每个数正好用一次。` : `${sum}, with every number used once.`;
  }
  const given = writeNumbers(puzzle.numbers);
  if (isTooSmall(puzzle.numbers, puzzle.target)) {
    return isChinese
      ? `${given} 算不出 ${aim}：这些数太小，不管怎么算都不够。`
      : `There is no way to make ${aim} from ${given}: however they are combined, they are too small.`;
  }
  if (isAll) {
    return isChinese
      ? `${given} 算不出 ${aim}：所有算法都试过了。`
      : `There is no way to make ${aim} from ${given}: I tried them all.`;
  }
  const found = isChinese
    ? `我没有找到用 ${given} 算出 ${aim} 的方法。`
    : `I found no way to make ${aim} from ${given}.`;
  return [found, sayHowFar(items, steps, language), NOT_SURE[language]]
    .filter((part) => part !== "")
    .join(isChinese ? "" : " ");
}

const NOT_SURE = {
  en: "That is no proof that there is none: I did not try everything.",
  zh: "这不能证明没有解：我没有试遍所有算法。",
};

function sayHowFar(items: readonly Item[] | undefined, steps: readonly ThoughtStep[], language: Language): string {
  const isChinese = language === "zh";
  if (items === undefined || steps.length === 0) {
    return isChinese ? "试过的每条路都走不通。" : "Every branch that was tried is a dead end.";
  }
  const sums = items.map(({ value, expression }) =>
    expression === writeFraction(value) ? expression : `${expression} = ${writeFraction(value)}`,
  );
  return isChinese ? `最接近的一步是：${sums.join("，")}。` : `The most promising was: ${sums.join(", ")}.`;
}
