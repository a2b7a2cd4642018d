/**
 * How far the words reach that belong to a request, such as the items of a list: to the end of the sentence, or to where
 * something else is asked for. It knows no skill. White space is counted, so that much of it costs no time.
 */

export interface Body {
  readonly text: string;
  readonly end: number;
}

const MAX_BODY = 2000;

/** "… and save it", "… and what time is it": what comes then is no part of it. */
const NEXT_EN = String.raw`[,;]?\s{1,4}(?:and then|and|then|also)\s{1,4}(?:also |please |then ){0,2}(?:what(?:['’]s| is| time)\b|tell me\b|(?:draw|plot|chart|calculate|compute) |list the files\b|ask (?:me|for)\b|(?:save|store|write|put) (?:it|that|this|them|the (?:result|list|table))\b|(?:make|create|show|give)(?: me)? (?:a|an|the|another) (?:[\w-]{1,20} )?(?:table|chart|graph|image|picture|drawing|todo|to-do|list|error)\b|(?:delete|read|open) [\w./-]{1,80}\.\w)|[,;]?\s{1,4}(?:and )?then (?:please )?(?:(?:cause|throw|raise|trigger|simulate|produce) an? \w|fail\b)`;
const NEXT_ZH = String.raw`[，,；;]?\s{0,4}(?:然后|并且|接着|同时|并|再)\s{0,2}(?:请|帮我|给我){0,2}(?:把|将|保存|计算|算|告诉|画|显示|展示|列出|查看|读取|删除|做一|问|现在)|[，,；;]\s{0,4}(?:请|帮我){0,2}(?:现在几点|几点|计算|告诉我|画[一个张])`;
const END = new RegExp(
  String.raw`(?<!\b(?:Dr|Mr|Mrs|Ms|St|Prof))\.(?=\s|$)|[!?](?=\s|$)|[。！？]|\n\s{0,4}\n|;;|${NEXT_EN}|${NEXT_ZH}`,
  "gi",
);

/** What fits `kept` is part of it all the same. */
export function readBody(text: string, from: number, kept?: RegExp): Body {
  const reach = text.slice(0, from + MAX_BODY);
  END.lastIndex = from;
  let next = END.exec(reach);
  while (next !== null && kept?.test(next[0]) === true) next = END.exec(reach);
  const end = next?.index ?? reach.length;
  return { text: reach.slice(from, end).trim(), end };
}

/** Where a pattern that sticks to its place has come to, or the place itself. */
export function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
