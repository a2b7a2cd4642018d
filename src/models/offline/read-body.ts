/**
 * Finds the words that belong to a request, such as the items of a list: up to the end of the sentence or the next
 * request. Patterns bound white space so that matching stays fast.
 */

export interface TaskBody {
  readonly text: string;
  readonly end: number;
}

const MAX_BODY = 2000;

/** "… and save it", "… and what time is it": the next request. */
const NEXT_EN = String.raw`[,;]?\s{1,4}(?:and then|and|then|also)\s{1,4}(?:also |please |then ){0,2}(?:what(?:['’]s| is| time)\b|tell me\b|(?:draw|plot|chart|calculate|compute) |list the files\b|ask (?:me|for)\b|(?:save|store|write|put) (?:it|that|this|them|the (?:result|list|table))\b|(?:make|create|show|give)(?: me)? (?:a|an|the|another) (?:[\w-]{1,20} )?(?:table|chart|graph|image|picture|drawing|todo|to-do|list|error)\b|(?:delete|read|open) [\w./-]{1,80}\.\w)|[,;]?\s{1,4}(?:and )?then (?:please )?(?:(?:cause|throw|raise|trigger|simulate|produce) an? \w|fail\b)`;
const NEXT_ZH = String.raw`[，,；;]?\s{0,4}(?:然后|并且|接着|同时|并|再)\s{0,2}(?:请|帮我|给我){0,2}(?:把|将|保存|计算|算|告诉|画|显示|展示|列出|查看|读取|删除|做一|问|现在)|[，,；;]\s{0,4}(?:请|帮我){0,2}(?:现在几点|几点|计算|告诉我|画[一个张])`;
const END = new RegExp(
  String.raw`(?<!\b(?:Dr|Mr|Mrs|Ms|St|Prof))\.(?=\s|$)|[!?](?=\s|$)|[。！？]|\n\s{0,4}\n|;;|${NEXT_EN}|${NEXT_ZH}`,
  "gi",
);

/** Reads the words from a position on. Separators that match `kept` are part of them. */
export function readBody(text: string, from: number, kept?: RegExp): TaskBody {
  const reach = text.slice(0, from + MAX_BODY);
  END.lastIndex = from;
  let next = END.exec(reach);
  while (next !== null && kept?.test(next[0]) === true) next = END.exec(reach);
  const end = next?.index ?? reach.length;
  return { text: reach.slice(from, end).trim(), end };
}

/** Returns the position after a sticky pattern, or the position itself if it does not match. */
export function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
