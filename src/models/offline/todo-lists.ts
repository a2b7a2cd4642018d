/**
 * To-do lists: writes a list of the user's items or of general suggestions, and checks off items of existing lists. For
 * the tools `write_todo_list` and `update_todo_item`.
 */
import type { FoundTask, KnownTodoList, OfflineLanguage, BilingualText, Skill } from "./offline-task.ts";
import type { FoundSteps } from "./find-steps.ts";
import { suggestItems } from "./general-lists.ts";
import { readSteps } from "./knowledge.ts";
import { matchSome } from "./match-some.ts";
import { type TaskBody, readBody, skip } from "./read-body.ts";
import { splitList } from "./labelled-values.ts";
import { isChinese, isOnlyMentioned, REQUEST_EN, REQUEST_ZH } from "./request-words.ts";

export const todoLists: Skill = {
  abilities: [
    {
      tool: "write_todo_list",
      can: { en: "write a to-do list", zh: "列待办清单" },
      example: { en: "Make a todo list: milk, bread, eggs", zh: "待办清单：买牛奶、写周报" },
    },
    {
      tool: "update_todo_item",
      can: { en: "check off items", zh: "勾选条目" },
      example: { en: "Mark milk as done", zh: "把买牛奶勾掉" },
    },
  ],
  find: (text, lists) => [...findLists(text), ...findTicks(text, lists)],
};

/** Whether the message clearly asks to check off an item, whether or not a list has it. "Check the news" does not. */
export function asksToTick(text: string): boolean {
  return TICKS.some((pattern) => matchSome(text, pattern).some(([words]) => PLAINLY.test(words)));
}

const PLAINLY = /^(?:mark|(?:un)?tick|uncheck|check off|check .{1,120} off$|cross|strike|把|将|取消|勾|划|打勾)/i;

const NOUN = String.raw`(?:to[- ]?do(?:s| lists?)?|task list|check[- ]?list|shopping list|grocery list|packing list)\b`;
const TRIGGER_EN = new RegExp(
  `${REQUEST_EN} (?:(?<about>(?!(?:of|for|from|and|me|us|the|this|that|it|all|any|to-?do|task|check|shopping|grocery|packing)\\b)[\\w-]{2,30}) )?(?:${NOUN}|list(?:(?=\\s{0,2}[:：])| of (?:things|what) to do\\b))|(?<=^|[.!?,;] |please )(?:(?:an?|my|the|new) )?${NOUN}(?=\\s{0,4}(?:$|[:：]|for\\b|with\\b))|\\b${NOUN}(?=\\s{0,2}[:：])`,
  "gi",
);
const NOUN_ZH = "(?:待办(?:清单|事项|列表|表)?|任务(?:清单|列表)|购物清单|清单|to-?do ?(?:list|清单|列表)?)";
/** "创建部署清单", "整理成待办清单": without a measure word. */
const MAKE_ZH = "(?:创建|生成|整理|制定|列出|准备|新建|[做写列整理]{1,2}成)(?:一?[个份张])?";
const TRIGGER_ZH = new RegExp(
  `(?:${REQUEST_ZH}|${MAKE_ZH})(?:(?<topic>[^，。！？：:,\\s的个]{1,20})的?)??${NOUN_ZH}|${NOUN_ZH}(?=\\s{0,2}[:：])`,
  "gi",
);
const TOPIC = /\s{1,4}(?:for|about|on|in|at) ((?:(?! with | and )[^:,;.!?\n]){1,80})/iy;
const OPENING =
  /\s{0,4}(?:[:：]|[,，]?\s?(?:with|containing|including|of|内容(?:是|为|有)?|包括|包含)(?: (?:the|these|items?|following)){0,3}\s?[:：]?)\s{0,4}/iy;

/** "Call mum and delete old.txt": an item, unless it follows "then". */
const LAST_ITEM = /^[,;]?\s{1,4}and\s{1,4}delete /i;

/** "With 5 items": how many, not which. */
const COUNT =
  /^(?:\d{1,3}|some|a few|several|many|[一两二三四五六七八九十几]{1,2}[个项条]?)\s?(?:items?|things?|tasks?|entries|points?|事项|条目|事|项)?$/i;

function findLists(text: string): readonly FoundTask[] {
  const found: FoundTask[] = [];
  // A mention must not be found again by its noun.
  const looked: { readonly at: number; readonly end: number }[] = [];
  for (const match of [...matchSome(text, TRIGGER_EN), ...matchSome(text, TRIGGER_ZH)]) {
    const at = match.index;
    if ([...found, ...looked].some((other) => at < other.end && other.at <= at)) continue;
    looked.push({ at, end: at + match[0].length });
    if (isOnlyMentioned(text, at)) continue;
    TOPIC.lastIndex = at + match[0].length;
    const said = TOPIC.exec(text);
    const topic = (match.groups?.["topic"] ?? said?.[1] ?? match.groups?.["about"])
      ?.trim()
      .replace(/^(?:an?|the|my|our) /i, "");
    const from = said === null ? at + match[0].length : TOPIC.lastIndex;
    const start = skip(OPENING, text, from);
    const numbered = readNumbered(text, start);
    const body = numbered ?? readBody(text, start, LAST_ITEM);
    const items = numbered?.items ?? (start > from && !COUNT.test(body.text) ? splitList(body.text) : []);
    const general = items.length > 0 ? undefined : suggestItems(topic ?? match[0], isChinese(match[0]));
    const place = { at, end: general === undefined ? body.end : from };
    const list = createList(place, topic, general ?? { items });
    const language = isChinese(match[0]) ? "zh" : "en";
    found.push(
      general === undefined
        ? list
        : { ...list, createFromSearch: (query) => createFromSteps(list, topic, language, query) },
    );
  }
  return found;
}

/** "1. wash the car 2. buy milk": these periods do not end a sentence. */
function readNumbered(text: string, from: number): (TaskBody & { readonly items: readonly string[] }) | undefined {
  if (!/^\s{0,4}1[.)、]/.test(text.slice(from, from + 8))) return undefined;
  const [words = ""] = text.slice(from, from + MAX_NUMBERED).split(/\n\s{0,4}\n/, 1);
  const items = words
    .split(/(?:^|[\s,，;；])\d{1,2}[.)、]\s{0,4}/)
    .map((item) => item.trim().replace(/[,，;；.。]$/, ""));
  return { text: words, end: from + words.length, items: items.filter((item) => item !== "") };
}

const MAX_NUMBERED = 2000;
const NO_NOTE: BilingualText = { en: "", zh: "" };

function createList(
  place: { readonly at: number; readonly end: number },
  topic: string | undefined,
  { items, note = NO_NOTE }: { readonly items: readonly string[]; readonly note?: BilingualText },
): FoundTask {
  const title = topic === undefined ? undefined : capitalize(topic);
  const named: BilingualText =
    title === undefined ? { en: "the list", zh: "清单" } : { en: `the list “${title}”`, zh: `清单“${title}”` };
  return {
    tool: "write_todo_list",
    ...place,
    about: { en: "a to-do list", zh: "待办清单" },
    // The first line of the result is for models.
    extractResult: (result) => result.replace(/^The list \S{1,200} is shown:\n/, ""),
    createInput: () => ({ ...(title === undefined ? {} : { title }), items: items.map((text) => ({ text })) }),
    describeResult: () => ({
      en: `Here is ${named.en}, with ${items.length} ${items.length === 1 ? "item" : "items"}.${note.en}`,
      zh: `${named.zh}已列好，共 ${items.length} 项。${note.zh}`,
    }),
  };
}

/** Returns the same list, made of the steps that a search for these words finds. */
function createFromSteps(
  list: FoundTask,
  topic: string | undefined,
  language: OfflineLanguage,
  query: string,
): FoundTask {
  const name = (title: string): string => {
    if (topic === undefined) return title;
    return language === "zh" && !topic.endsWith("清单") ? `${topic}清单` : capitalize(topic);
  };
  const read = (results: readonly string[]): FoundSteps | undefined => readSteps(query, results, language);
  return {
    ...list,
    needsResults: true,
    accepts: (results) => read(results) !== undefined,
    createInput: (_, results) => {
      const { passage, items } = read(results) ?? { passage: undefined, items: [] };
      return { title: name(passage?.title ?? query), items: items.map((text) => ({ text })) };
    },
    announce: (results) => {
      const found = read(results);
      if (found === undefined) return undefined;
      const { passage, items, total } = found;
      const { title, ref } = passage;
      const [first, firstZh] =
        items.length === total
          ? ["", ""]
          : [` (the first ${items.length} of ${total} items)`, `（前 ${items.length} 项，共 ${total} 项）`];
      return {
        en: `Here is a list from “${title}” [${ref}]${first}:\n\n`,
        zh: `根据“${title}”[${ref}]整理的${name("清单")}${firstZh}：\n\n`,
      };
    },
    describeResult: (result) => {
      const count = [...result.matchAll(/^\d{1,4}\. \[[ x]\] /gm)].length;
      return {
        en: `The list has ${count} ${count === 1 ? "item" : "items"}, quoted from the document.`,
        zh: `清单共 ${count} 项，均为文档原文。`,
      };
    },
  };
}

function capitalize(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const WHICH = String.raw`(?<which>[^.!?;\n，。！？；]{1,120}?)`;
const TICKS: readonly RegExp[] = [
  String.raw`\bmark ${WHICH} (?:as )?(?<not>not |un)?(?:done|finished|completed?)\b`,
  String.raw`\b(?<not>un)?(?:tick|check)(?: off)? ${WHICH}(?: off)?(?=\s{0,4}(?:$|[.!?;\n]|please\b))`,
  String.raw`\b(?:cross|strike) (?:off|out) ${WHICH}(?=\s{0,4}(?:$|[.!?;\n]|please\b))`,
  String.raw`(?<=^|[.!?;,]\s)${WHICH} (?:is|are) (?<not>not )?(?:done|finished|completed?)\b`,
  String.raw`\b(?:i am|i['’]m|i have) (?:done|finished) (?:with )?${WHICH}(?=\s{0,4}(?:$|[.!?;\n]))`,
  String.raw`(?:把|将)\s?${WHICH}\s?(?:勾掉|勾上|打勾|划掉|(?:标记|标|设)(?:为|成)(?<not>未)?(?:已)?完成)`,
  String.raw`(?<not>取消)?(?:勾掉|勾选|勾上|划掉|打勾)\s?${WHICH}(?=\s{0,4}(?:$|[.!?;\n，。！？；]))`,
  String.raw`(?<=^|[，。！？；])(?:我)?${WHICH}(?:已经)?(?:完成|做完|买好|办好|搞定)了`,
].map((source) => new RegExp(source, "gi"));

interface KnownItem {
  readonly listId: string;
  readonly itemId: string;
  readonly text: string;
}

function findTicks(text: string, lists: readonly KnownTodoList[]): readonly FoundTask[] {
  if (lists.length === 0) return [];
  const found: FoundTask[] = [];
  for (const pattern of TICKS) {
    for (const match of matchSome(text, pattern)) {
      const { which = "", not } = match.groups ?? {};
      const [at, end] = [match.index, match.index + match[0].length];
      if (found.some((other) => at < other.end && other.at < end)) continue;
      for (const item of findItems(which, lists)) found.push(createTick(at, end, item, not === undefined));
    }
  }
  return found;
}

/** Finds the items meant by "milk and bread", "item 2" or "the first"; none if one of them does not exist. */
function findItems(which: string, lists: readonly KnownTodoList[]): readonly KnownItem[] {
  const named = findItem(which, lists, isNamed);
  if (named !== undefined) return [named];
  const parts = which.split(/,| and |，|、|和/i).map((part) => findItem(part, lists, isMeant));
  return parts.every((item) => item !== undefined) ? parts : [];
}

type TodoListItem = KnownTodoList["items"][number];

function findItem(
  words: string,
  lists: readonly KnownTodoList[],
  fits: (item: TodoListItem, words: string) => boolean,
): KnownItem | undefined {
  const plain = words
    .trim()
    .toLowerCase()
    .replaceAll(/^(?:the |my |item |task ){1,3}|["'“”「」]/g, "");
  if (plain === "") return undefined;
  for (const { id: listId, items } of lists) {
    const item = items.find((one) => isNamed(one, plain)) ?? items.find((one) => fits(one, plain));
    if (item !== undefined) return { listId, itemId: item.id, text: item.text };
  }
  return undefined;
}

/** By its text or its position in the list. */
function isNamed({ id, text }: TodoListItem, words: string): boolean {
  return text.toLowerCase() === words || readPlace(words) === id;
}

/** Extra characters around the name of an item: "the bread from the baker". */
const MAX_AROUND = 12;

function isMeant({ text }: TodoListItem, words: string): boolean {
  const item = text.toLowerCase();
  return (
    words.length > 1 && (item.includes(words) || (words.includes(item) && words.length <= item.length + MAX_AROUND))
  );
}

const ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split(" ");
const PLACE = /^(?:#|no\.? ?|number )?(\d{1,3})$|^第\s?(\d{1,3})\s?[项个条]?$/;

/** "2", "the second one", "第二项". */
function readPlace(words: string): string | undefined {
  const [, number, counted] = PLACE.exec(words) ?? [];
  const ordinal = ORDINALS.indexOf(words.replace(/ (?:one|item|task)$/, ""));
  const chinese = "一二三四五六七八九十".indexOf(/^第([一二三四五六七八九十])[项个条]?$/.exec(words)?.[1] ?? "?");
  const place = Math.max(ordinal, chinese) + 1;
  return number ?? counted ?? (place > 0 ? `${place}` : undefined);
}

function createTick(at: number, end: number, { listId, itemId, text }: KnownItem, completed: boolean): FoundTask {
  return {
    tool: "update_todo_item",
    at,
    end,
    about: completed
      ? { en: `check off “${text}”`, zh: `勾选“${text}”` }
      : { en: `uncheck “${text}”`, zh: `取消勾选“${text}”` },
    createInput: () => ({ list_id: listId, item_id: itemId, completed }),
    describeResult: () =>
      completed
        ? { en: `Marked “${text}” as done.`, zh: `已勾选“${text}”。` }
        : { en: `Marked “${text}” as not done.`, zh: `已取消勾选“${text}”。` },
  };
}
