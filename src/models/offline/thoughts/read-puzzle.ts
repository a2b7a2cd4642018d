/**
 * Finds a Game of 24 in a question: numbers to be combined into another one. The words around the numbers must say so.
 *
 * Invariant: either all numbers are read, or the puzzle is returned as unread; never a part of the numbers.
 */
import type { OfflineLanguage } from "../offline-task.ts";
import { findTasks } from "../find-tasks.ts";
import { createFraction, type Fraction } from "./fraction.ts";
import { omitConsent } from "./read-consent.ts";
import { hasNumber, readNumberList } from "./read-number-list.ts";

export interface Puzzle {
  readonly numbers: readonly Fraction[];
  readonly target: Fraction;
  /** Other requests of the message, verbatim. */
  readonly leftOut?: string;
}

/** Certainly a puzzle, but not a playable one. */
export interface UnreadPuzzle {
  /** The text in place of the numbers; empty if there is none. */
  readonly unread: string;
}

/** Longer messages are read up to here. */
const READ_CHARACTERS = 2000;
const MIN_NUMBERS = 2;
const MAX_NUMBERS = 6;
const MAX_QUOTED = 120;

const AIM = String.raw`(?<aim>\d{1,4})(?![\d.]\d|\d)`;
/** Positions at which a request can begin. */
const START = String.raw`(?<=^\s{0,9}|[.!?;:,。！？；：，\n]\s{0,4}|\b(?:please|you|me|to|and|then|let['’]?s|how (?:do|can|could|would) (?:i|we|one))\s{1,3}|[请我你想何么]\s{0,3})`;
const LEAD = String.raw`(?:[\s:,>]|[-–—](?=\s)|\b(?:with|using|use|for|from|the|these|numbers?|cards?|digits|following|are|is|my|given|(?:two|three|four|five|six)(?= (?:numbers|cards)))\b|四个|[用数字这几个题请：，]){0,40}`;
/** "… for my homework: 4 9 10 13". */
const GAP = String.raw`(?:[^\d\n.!?]{0,60}:\s{0,4}(?=\d|[AJQK]\b)|${LEAD})`;

interface PuzzlePattern {
  readonly before: RegExp;
  /** Matches the target if it comes after the numbers. */
  readonly after?: RegExp;
  /** Whether it is certainly a puzzle, so that unreadable numbers deserve an explanation. */
  readonly isClear?: boolean;
}

const FROM = String.raw`\s{1,3}(?:from|with|using|by using|by combining|out of)\b${LEAD}`;
const MAKE = "make|get|reach|form|build|obtain|produce";
/** Excludes "10 minutes". */
const END = String.raw`(?=\s{0,3}(?:$|[^\s\p{L}\p{N}%°]|[点吗呢吧的]|(?:please|using|with|by|each|and|then|points?)\b))`;
const AFTER_EN = String.raw`[^\d\n.!?]{0,40}?(?:\b(?:${MAKE}|equals?|gives?|into|be|to)\s{1,3}|(?:=|->|=>|→)\s{0,3})${AIM}${END}`;
const AFTER_ZH = String.raw`[^\d\n。！？]{0,20}?(?:算|得|凑|等于|变成|组成|做成)[^\d\n。！？]{0,6}?${AIM}\s{0,3}点?`;

const PATTERNS: readonly PuzzlePattern[] = [
  // Game of 24: 4 9 10 13
  { before: compile(String.raw`\bgame of ${AIM}${GAP}`), isClear: true },
  // 24 game with 4, 9, 10 and 13
  { before: compile(String.raw`\b(?<aim>\d{1,3})[ -]?(?:points? )?(?:game|puzzle)\b${GAP}`), isClear: true },
  // 24点：4 9 10 13
  {
    before: compile(String.raw`(?<![\d.])(?:(?<aim>24)|(?<=[算凑玩]出?\s?)(?<aim2>\d{1,4}))\s?点(?:游戏)?${GAP}`),
    isClear: true,
  },
  // Solve 24: 4 9 10 13
  { before: compile(String.raw`${START}(?:solve|play)\s{1,3}(?:(?<aim>24)\b|(?<aim2>\d{1,4})(?=:))${LEAD}`) },
  // make 24 from 4, 9, 10 and 13
  { before: compile(String.raw`${START}(?:${MAKE}|solve)\s{1,3}${AIM}${FROM}`) },
  // find an expression equal to 24 using 4, 9, 10, 13
  {
    before: compile(
      String.raw`\b(?:expression|formula|equation|way)\s{1,3}(?:[a-z]{1,9}\s{1,3}){0,3}(?:to|for|of|equals|makes|gives|make|get|reach)\s{1,3}${AIM}${FROM}`,
    ),
  },
  // 24 from 4 9 10 13
  { before: compile(String.raw`^\s{0,9}${AIM}${FROM}`) },
  // 算出 24，用 4 7 8 8
  { before: compile(String.raw`(?:算|得|凑|组成)[出到成]?\s{0,3}${AIM}[^\d\n。！？]{0,10}?用${LEAD}`) },
  // use 4 9 10 13 to make 24
  {
    before: compile(String.raw`${START}(?:use|using|with|from|combine|take|turn)\b${LEAD}`),
    after: compile(AFTER_EN, "y"),
  },
  // 4 9 10 13 -> 24
  { before: compile(String.raw`^\s{0,9}(?=[\dAJQK])`), after: compile(AFTER_EN, "y") },
  // 用 4 7 8 8 算 24 点
  { before: compile(String.raw`[用拿由把将]${LEAD}`), after: compile(AFTER_ZH, "y") },
  { before: compile(String.raw`^\s{0,9}(?=\d)`), after: compile(AFTER_ZH, "y") },
];

function compile(source: string, flags = ""): RegExp {
  return new RegExp(source, `iu${flags}`);
}

const BARE =
  /^[^\p{L}\p{N}]{0,9}(?:(?:let['’]?s|let us|can we|shall we|i want to|i['’]d like to|please)\s{1,3}){0,2}(?:(?:play\s{1,3})?(?:the\s{1,3}|a\s{1,3})?(?:game of 24|24(?: points?)? game)|play\s{1,3}24|(?:我们|我想|来|请|一起){0,3}[玩来算]?(?:一?[局个把次盘])?\s?24\s?点(?:游戏)?[吧吗呢]?)[^\p{L}\p{N}]{0,9}$/iu;

export function readPuzzle(question: string): Puzzle | UnreadPuzzle | undefined {
  const text = omitConsent(question.slice(0, READ_CHARACTERS))
    .normalize("NFKC")
    .replaceAll(/(?:二十四|24)\s?[点點]/g, "24点");
  if (BARE.test(text)) return { unread: "" };
  for (const way of PATTERNS) {
    const found = matchPattern(text, way);
    if (found !== undefined) return found;
  }
  return undefined;
}

function matchPattern(
  text: string,
  { before, after, isClear = false }: PuzzlePattern,
): Puzzle | UnreadPuzzle | undefined {
  const head = before.exec(text);
  if (head === null) return undefined;
  const from = head.index + head[0].length;
  const list = readNumberList(text, from);
  if (list.count < MIN_NUMBERS) return undefined;
  let { end } = list;
  let aim = head.groups?.["aim"] ?? head.groups?.["aim2"];
  if (after !== undefined) {
    after.lastIndex = end;
    aim = after.exec(text)?.groups?.["aim"];
    end = after.lastIndex;
  }
  const target = aim === undefined ? undefined : createFraction(Number(aim));
  if (target === undefined) return undefined;
  const rest = text.slice(end).replace(COURTESY, "");
  const [sentence = ""] = rest.split(SENTENCE_END, 1);
  // A later number may belong to the puzzle, unless it is part of another request.
  const mayBeMore = hasNumber(sentence) && !REQUEST.test(sentence);
  const isOther = sentence.trim() === "" || REQUEST.test(sentence) || (NEXT.test(sentence) && !mayBeMore);
  if (!isOther && !isClear) return undefined;
  if (list.numbers === undefined || list.count > MAX_NUMBERS || mayBeMore) {
    return {
      unread:
        text
          .slice(from, end + MAX_QUOTED)
          .split(SENTENCE_END, 1)[0]
          ?.trim() ?? "",
    };
  }
  const lead = trimRequest(text.slice(0, head.index));
  const isAlsoBefore = findTasks(lead).some(({ isConsent }) => isConsent !== true);
  const others = [isAlsoBefore ? lead : "", trimRequest(rest).replace(COURTESY, "")].filter((one) =>
    /\p{L}/u.test(one),
  );
  const leftOut = others.join(" … ").slice(0, MAX_QUOTED).toWellFormed();
  return { numbers: list.numbers, target, ...(leftOut === "" ? {} : { leftOut }) };
}

const SENTENCE_END = /[.!?](?=\s|$)|[。！？\n]/;
/** Words that belong to the puzzle or have no meaning. */
const COURTESY =
  /^(?:[\s,;:，；：)）"”'’]|please\b|thank(?:s| you)\b|for me\b|now\b|(?:and )?(?:each|exactly|only|every|all)\b|of them\b|once\b|(?:one )?numbers?\b|used\b|using\b|use\b|the\b|four(?= (?:basic )?(?:operations|operators|numbers))|basic\b|operations?\b|operators?\b|with\b|to (?:make|get|reach|form|obtain|give) \d{1,4}\b|but(?=[\s,.;]*$)|[-+*/×÷]|(?:怎么|如何)?[算得凑][出到成]?\s?\d{1,4}\s?点?|[吧呢吗啊点的数]){1,60}/i;
const NEXT = /^\s{0,4}(?:and|then|also|but)\s{1,4}\p{L}{2}|^(?:然后|再|并|顺便|同时|还有|现在|告诉|请)/iu;
const REQUEST =
  /^\s{0,4}(?:(?:and|then|also|but|please)\s{1,4}){0,3}(?:what|how|who|when|where|why|tell|calculate|compute|draw|show|make|write|list|give|plan|compare|read|game of)\b|^(?:然后|再|并|顺便|同时|还有|请)?(?:现在|告诉|计算|画|写|列|讲|做)/iu;

function trimRequest(words: string): string {
  return words
    .replaceAll(/\s+/g, " ")
    .replace(/^[\s,.;!?。，；！？]+/, "")
    .replace(/(?:[\s,;，；]|\b(?:and|then)\s*$)+$/i, "");
}

/** Explains why the puzzle cannot be played. */
export function describeUnread({ unread }: UnreadPuzzle, language: OfflineLanguage): string {
  if (language === "zh") {
    return unread === ""
      ? "用哪几个数？例如：24 点：4 9 10 13。"
      : `“${unread}”不能用。请给出 2 到 6 个整数，范围 0 到 9999；A、J、Q、K 算 1、11、12、13。例如：24 点：4 9 10 13。`;
  }
  return unread === ""
    ? "Which numbers? For example: Game of 24: 4 9 10 13."
    : `“${unread}” does not work. Use 2 to 6 whole numbers from 0 to 9999; A, J, Q and K count as 1, 11, 12 and 13. For example: Game of 24: 4 9 10 13.`;
}
