/** All that a message asks for, in its order. */
import { arithmetic } from "./arithmetic.ts";
import { charts } from "./charts.ts";
import { clock } from "./clock.ts";
import { consent, findConsent } from "./consent.ts";
import type { Ability, Errand, FoundErrand, KnownList, Skill } from "./errand.ts";
import { files } from "./files.ts";
import { images } from "./images.ts";
import { knowledge, makeMaterial, SEARCH_TOOL } from "./knowledge.ts";
import { tables } from "./tables.ts";
import { todoLists } from "./todo-lists.ts";

/** Longer messages are looked at up to here. */
export const READ_CHARACTERS = 4000;
export const MAX_ERRANDS = 8;

/** What finds something out; several may be found in the same words. */
const FACTS: readonly Skill[] = [arithmetic, clock];
/** What shows something of the words after it. Where two want the same words, the first that asks gets them. */
const SHOWING: readonly Skill[] = [todoLists, tables, charts, images, knowledge];

export interface FoundErrands {
  readonly errands: readonly Errand[];
  /** Those that are too many. */
  readonly leftOut: readonly Errand[];
  /** The message without the words of what was found in it, facts excepted. */
  readonly rest: string;
  /** The same without facts. */
  readonly unread: string;
}

export function findErrands(message: string, lists: readonly KnownList[] = []): readonly Errand[] {
  return readErrands(message, lists).errands;
}

export function readErrands(message: string, lists: readonly KnownList[]): FoundErrands {
  const asking = findConsent(message);
  const found: Errand[] = asking === undefined ? [] : [asking];
  // A wish to be asked is no part of anything else: no item of a list, no words of a file.
  const whole = (asking === undefined ? message : blank(message, asking)).slice(0, READ_CHARACTERS);
  let text = whole;
  for (const errand of joinSearches(pickErrands(whole, lists))) {
    // What stands in its words, the content of a file above all, is not read by the other skills, unless it says so.
    text = blank(text, errand);
    const parts = errand.madeOf === undefined ? [] : findFacts(errand.madeOf);
    const owner = errand.at;
    found.push(...parts.map((part) => ({ ...part, at: owner, owner })));
    found.push(parts.length === 0 && errand.madeOf !== undefined ? { ...errand, needsResults: false } : errand);
  }
  const facts = findFacts(text);
  found.push(...facts);
  const unread = facts.reduce(blank, text);
  const isPlain = message.length <= READ_CHARACTERS && isFiller(unread);
  // Whoever is asked after all is done is not asked.
  const isLast = found.every(({ at }) => at <= (asking?.at ?? 0));
  const placed = found
    .map((one) => (one.isFirst === true || (one === asking && isLast) ? { ...one, at: -1 } : one))
    .map((one) => (isPlain ? one : spareFile(one)));
  placed.sort((a, b) => a.at - b.at);
  return { errands: placed.slice(0, MAX_ERRANDS), leftOut: placed.slice(MAX_ERRANDS), rest: text, unread };
}

function pickErrands(text: string, lists: readonly KnownList[]): readonly FoundErrand[] {
  const taken: FoundErrand[] = [];
  const candidates = [...SHOWING, files].flatMap((skill) => skill.find(text, lists));
  for (const one of candidates.sort((a, b) => a.at - b.at)) {
    // "Look up the time in Tokyo": there is a better way to know.
    if (one.tool === SEARCH_TOOL && findFacts(text.slice(one.at, one.end)).length > 0) continue;
    const isFree = taken.every((other) => one.at >= other.end || other.at >= one.end || areTogether(one, other));
    if (isFree) taken.push(one);
  }
  return taken;
}

/** "Search the deployment docs and make a checklist": the list is made of what is found. */
function joinSearches(errands: readonly FoundErrand[]): readonly FoundErrand[] {
  const query = errands.find(({ tool }) => tool === SEARCH_TOOL)?.query;
  if (query === undefined || !errands.some((one) => one.makeFrom !== undefined)) return errands;
  return errands.map((errand) =>
    errand.tool === SEARCH_TOOL ? makeMaterial(errand) : (errand.makeFrom?.(query) ?? errand),
  );
}

/** "Mark milk and bread as done": two errands in the same words. */
function areTogether(one: FoundErrand, other: FoundErrand): boolean {
  return one.tool === other.tool && one.at === other.at && one.end === other.end;
}

/** What may stand around requests and change nothing about them. */
const FILLER =
  /^(?:[\s;,.!?:()•*，。！？；：、（）-]|\d{1,2}[.)、]|(?:please|kindly|and|then|also|now|next|first|second|third|finally|lastly|afterwards|after that|ok|okay|yes|hi|hello|hey|thanks|thank you|so|just|go ahead|can you|could you|would you|will you|for me|right now|right away|immediately|again|too|as well|what|what['’]s|is|how much|much|the|a|tell me|give me|calculate|compute|evaluate|me|it)\b|请|你|您|能|帮我|帮忙|麻烦|给我|然后|再|接着|并且?|同时|最后|首先|先|现在|也|还有|以及|和|就|直接|马上|立即|立刻|一下|好的?|之后|吧|谢谢|计算|算|等于|多少|是|出|得|吗)*$/i;

export function isFiller(rest: string): boolean {
  return FILLER.test(rest);
}

/** A file is changed only where nothing else is said: nobody knows what a word not understood would have made of it. */
function spareFile(errand: Errand): Errand {
  const { touches, cannot } = errand;
  if (touches?.isChange !== true || cannot !== undefined) return errand;
  const { path = "" } = touches;
  return {
    ...errand,
    cannot: {
      en: `I have left ${path} as it is: I change a file only where I understand all of the message. Say it in a message of its own, as in “write hello to ${path}” or “delete ${path}”.`,
      zh: `没有动 ${path}：只有整句话都明白时我才改动文件。请单独说，例如“把你好写入 ${path}”或“删除 ${path}”。`,
    },
  };
}

function findFacts(text: string): readonly FoundErrand[] {
  return FACTS.toReversed().flatMap((skill) => skill.find(text, []));
}

/** What can be done with these tools. */
export function listAbilities(tools: ReadonlySet<string>): readonly Ability[] {
  const skills = [...FACTS, ...SHOWING, consent, files];
  return skills.flatMap(({ abilities }) => abilities).filter(({ tool }) => tools.has(tool));
}

/** With signs that end what comes before them. */
function blank(text: string, { at, end }: { readonly at: number; readonly end: number }): string {
  return text.slice(0, at) + ";".repeat(end - at) + text.slice(end);
}
