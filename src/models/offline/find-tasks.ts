/** Finds all tasks of a message, in order. */
import { arithmetic } from "./arithmetic.ts";
import { charts } from "./charts.ts";
import { clock } from "./clock.ts";
import { consent, findConsent } from "./consent.ts";
import type { Ability, OfflineTask, FoundTask, KnownTodoList, Skill } from "./offline-task.ts";
import { files } from "./files.ts";
import { images } from "./images.ts";
import { knowledge, markAsSource, SEARCH_TOOL } from "./knowledge.ts";
import { describeNamedTool, findNamedTools } from "./named-tools.ts";
import { tables } from "./tables.ts";
import { todoLists } from "./todo-lists.ts";

/** Longer messages are read up to here. */
export const READ_CHARACTERS = 4000;
export const MAX_TASKS = 8;

/** Skills that find out something; their tasks may overlap. */
const FACTS: readonly Skill[] = [arithmetic, clock];
/** Skills that show something made from the words after the request. If two claim the same words, the first wins. */
const SHOWING: readonly Skill[] = [todoLists, tables, charts, images, knowledge];
const ABILITIES: readonly Ability[] = [...FACTS, ...SHOWING, consent, files].flatMap(({ abilities }) => abilities);
/** Tools that a skill knows. Others are called only by their name. */
export const KNOWN_TOOLS: ReadonlySet<string> = new Set(ABILITIES.map(({ tool }) => tool));
const MAX_NAMED_ABILITIES = 3;

export interface FoundTasks {
  readonly tasks: readonly OfflineTask[];
  /** Tasks beyond the limit. */
  readonly leftOut: readonly OfflineTask[];
  /** The message without the words of the tasks, except those of `FACTS`. */
  readonly rest: string;
  /** The message without the words of all tasks. */
  readonly unread: string;
}

export function findTasks(message: string, lists: readonly KnownTodoList[] = []): readonly OfflineTask[] {
  return parseTasks(message, lists).tasks;
}

export function parseTasks(message: string, lists: readonly KnownTodoList[]): FoundTasks {
  const asking = findConsent(message);
  const found: OfflineTask[] = asking === undefined ? [] : [asking];
  // A request for approval is never a list item or the content of a file.
  const whole = (asking === undefined ? message : blank(message, asking)).slice(0, READ_CHARACTERS);
  let text = whole;
  for (const task of joinSearches(pickTasks(whole, lists))) {
    // Other skills do not read the words of a task, such as the content of a file.
    text = blank(text, task);
    const parts = task.sourceText === undefined ? [] : findFacts(task.sourceText);
    const owner = task.at;
    found.push(...parts.map((part) => ({ ...part, at: owner, owner })));
    found.push(parts.length === 0 && task.sourceText !== undefined ? { ...task, needsResults: false } : task);
  }
  const facts = findFacts(text);
  found.push(...facts);
  const unread = facts.reduce(blank, text);
  const isPlain = message.length <= READ_CHARACTERS && isFiller(unread);
  // A request for approval after all tasks applies to all of them.
  const isLast = found.every(({ at }) => at <= (asking?.at ?? 0));
  const placed = found
    .map((one) => (one.isFirst === true || (one === asking && isLast) ? { ...one, at: -1 } : one))
    .map((one) => (isPlain ? one : refuseUnclearChange(one)));
  placed.sort((a, b) => a.at - b.at);
  return { tasks: placed.slice(0, MAX_TASKS), leftOut: placed.slice(MAX_TASKS), rest: text, unread };
}

function pickTasks(text: string, lists: readonly KnownTodoList[]): readonly FoundTask[] {
  const taken: FoundTask[] = [];
  const named = findNamedTools(text).filter(({ tool }) => !KNOWN_TOOLS.has(tool));
  const candidates = [...named, ...[...SHOWING, files].flatMap((skill) => skill.find(text, lists))];
  for (const one of candidates.sort((a, b) => a.at - b.at)) {
    // "Look up the time in Tokyo": another tool answers this better.
    if (one.tool === SEARCH_TOOL && findFacts(text.slice(one.at, one.end)).length > 0) continue;
    const isFree = taken.every((other) => one.at >= other.end || other.at >= one.end || areTogether(one, other));
    if (isFree) taken.push(one);
  }
  return taken;
}

/** "Search the deployment docs and make a checklist": the list uses the search result. */
function joinSearches(tasks: readonly FoundTask[]): readonly FoundTask[] {
  const query = tasks.find(({ tool }) => tool === SEARCH_TOOL)?.query;
  if (query === undefined || !tasks.some((one) => one.createFromSearch !== undefined)) return tasks;
  return tasks.map((task) =>
    task.tool === SEARCH_TOOL ? markAsSource(task) : (task.createFromSearch?.(query) ?? task),
  );
}

/** "Mark milk and bread as done": two tasks with the same words. */
function areTogether(one: FoundTask, other: FoundTask): boolean {
  return one.tool === other.tool && one.at === other.at && one.end === other.end;
}

/** Words around requests that do not change their meaning. */
const FILLER =
  /^(?:[\s;,.!?:()•*，。！？；：、（）-]|\d{1,2}[.)、]|(?:please|kindly|and|then|also|now|next|first|second|third|finally|lastly|afterwards|after that|ok|okay|yes|hi|hello|hey|thanks|thank you|so|just|go ahead|can you|could you|would you|will you|for me|right now|right away|immediately|again|too|as well|what|what['’]s|is|how much|much|the|a|tell me|give me|calculate|compute|evaluate|me|it)\b|请|你|您|能|帮我|帮忙|麻烦|给我|然后|再|接着|并且?|同时|最后|首先|先|现在|也|还有|以及|和|就|直接|马上|立即|立刻|一下|好的?|之后|吧|谢谢|计算|算|等于|多少|是|出|得|吗)*$/i;

export function isFiller(rest: string): boolean {
  return FILLER.test(rest);
}

/** A file is changed only if the whole message is understood: an unknown word might change the meaning. */
function refuseUnclearChange(task: OfflineTask): OfflineTask {
  const { fileAccess, refusal } = task;
  if (fileAccess?.isChange !== true || refusal !== undefined) return task;
  const { path = "" } = fileAccess;
  return {
    ...task,
    refusal: {
      en: `I did not change ${path}, because I did not understand the whole message. Ask for it separately, for example “write hello to ${path}” or “delete ${path}”.`,
      zh: `没有改动 ${path}，因为我没有完全看懂这条消息。请单独提出，例如“把你好写入 ${path}”或“删除 ${path}”。`,
    },
  };
}

function findFacts(text: string): readonly FoundTask[] {
  return FACTS.toReversed().flatMap((skill) => skill.find(text, []));
}

/** Lists the abilities for these tools. */
export function listAbilities(tools: ReadonlySet<string>): readonly Ability[] {
  const others = [...tools].filter((tool) => !KNOWN_TOOLS.has(tool)).slice(0, MAX_NAMED_ABILITIES);
  return [...ABILITIES.filter(({ tool }) => tools.has(tool)), ...others.map(describeNamedTool)];
}

/** Replaces words with semicolons, which end the text before them. */
function blank(text: string, { at, end }: { readonly at: number; readonly end: number }): string {
  return text.slice(0, at) + ";".repeat(end - at) + text.slice(end);
}
