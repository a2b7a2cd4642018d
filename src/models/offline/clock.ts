/** The current time, here or in some well-known places. For the tool `current_time`. */
import { type Json, isJsonObject } from "../../protocol/index.ts";
import type { ModelTool } from "../model.ts";
import type { Skill } from "./offline-task.ts";
import { isOnlyMentioned } from "./request-words.ts";

export const clock: Skill = {
  abilities: [
    {
      tool: "current_time",
      can: { en: "tell the time", zh: "查看时间" },
      example: { en: "What time is it in Tokyo?", zh: "现在北京几点？" },
    },
  ],
  find(text) {
    const match = ASKED.exec(text);
    if (match === null) return [];
    const [at, end] = [match.index, match.index + match[0].length];
    const zones = ZONES.filter(([names]) => names.test(text)).map(([, zone]) => zone);
    // The time of an unknown place, or of another day, is not an answer.
    const before = text.slice(Math.max(0, at - 24), at);
    if (OTHER_DAY.test(before) || isOnlyMentioned(text, at)) return [];
    if (zones.length === 0 && (ELSEWHERE.test(text.slice(end)) || isElsewhere(before + match[0]))) return [];
    return (zones.length === 0 ? [undefined] : zones).map((zone) => ({
      tool: "current_time",
      at,
      // The places are part of the question.
      end: end + (zones.length === 0 ? 0 : (PLACES.exec(text.slice(end))?.[0].length ?? 0)),
      about: zone === undefined ? { en: "the time", zh: "时间" } : { en: `the time, ${zone}`, zh: `时间，${zone}` },
      createInput: (tool) => (zone === undefined ? {} : nameZone(tool, zone)),
      describeResult: (result) => ({
        en: `It is ${trimStop(result)}.`,
        zh: `现在是 ${formatChinese(trimStop(result))}。`,
      }),
    }));
  },
};

/** "… in Tokyo and London": a few capitalised names. */
const PLACES = /^(?: now| right now)? in (?:[A-Z]\w{1,20}(?: [A-Z]\w{1,20})?(?:, and |, | and )?){1,4}(?![\w.])/;

/** "What is the time complexity", "what time is it going to rain" and "what day was it" are other questions. */
const END = String.raw`(?=\s{0,4}(?:$|[?.!,;]|(?:now|today|in|and|right now|please|here|there|currently|at the moment)\b))`;
const ASKED = new RegExp(
  [
    String.raw`\bwhat(?:['’]s| is)? (?:the )?(?:current |local )?(?:time|date|day|year|month)(?: of the week)?(?: and (?:time|date|day))?(?: is it| it is| is today)?${END}`,
    String.raw`\bcurrent (?:time|date)\b|\btime is it${END}|(?:^|\b(?:tell me|look up|find out|check) )\s{0,4}(?:the )?time\b(?=\s{0,4}(?:$|[?.!,;]|in\b|and\b))|\btoday['’]s date\b|\bthe (?:time|date) (?:now|today)\b`,
    String.raw`几点(?!了?[吃去来到开出下上睡起回见])|(?:现在|当前)的?(?:时间|日期)|什么时间[？?]?$|今天.{0,3}(?:几号|日期|星期|礼拜)|星期几|现在时刻|今年是?哪一?年`,
  ].join("|"),
  "i",
);

const ELSEWHERE =
  /^\s{0,4}(?:is it\s{0,4})?(?:now\s{0,4}|right now\s{0,4})?in (?!the (?:morning|afternoon|evening)|here|my|this)/i;
const OTHER_DAY = /(?:[明昨后前]天|[下上]周|[下上]个?月|[明去后]年|生日|那天|[月日号])[^，。！？；,.!?;]{0,6}$/;

/** "现在内罗毕几点": a clause that contains more than the words of the question names a place that is not in the table. */
function isElsewhere(words: string): boolean {
  const [, place = ""] = /(?:现在|目前|此刻)(\p{Script=Han}{2,8}?)(?:是|的时间是)?几点$/u.exec(words) ?? [];
  const [, named = ""] =
    /(?:^|[，。！？；,.!?;\s])(\p{Script=Han}{2,8}?)的?(?:现在|目前|此刻)(?:是)?几点$/u.exec(words) ?? [];
  return [place, named].some((one) => one.replaceAll(COMMON, "") !== "");
}

const COMMON =
  /请问|请|告诉|帮|看看|看|一下|下|我们?|你|知道|是|到底|大概|时间|这里|这边|这儿|然后|顺便|再|还有|并且?|和|查|问|说|报|那么?|嗨|早|好|今天|的|了|到/g;

const ZONES: readonly (readonly [RegExp, string])[] = [
  [/\bUTC\b|\bGMT\b/i, "UTC"],
  [/\b(?:tokyo|japan)\b|东京|日本/i, "Asia/Tokyo"],
  [/\b(?:beijing|shanghai|shenzhen|china)\b|北京|上海|深圳|中国/i, "Asia/Shanghai"],
  [/\bhong kong\b|香港/i, "Asia/Hong_Kong"],
  [/\btaipei\b|台北/i, "Asia/Taipei"],
  [/\bseoul\b|首尔/i, "Asia/Seoul"],
  [/\bsingapore\b|新加坡/i, "Asia/Singapore"],
  [/\b(?:delhi|mumbai|india)\b|德里|孟买|印度/i, "Asia/Kolkata"],
  [/\bdubai\b|迪拜/i, "Asia/Dubai"],
  [/\bmoscow\b|莫斯科/i, "Europe/Moscow"],
  [/\blondon\b|伦敦/i, "Europe/London"],
  [/\bberlin\b|柏林/i, "Europe/Berlin"],
  [/\bparis\b|巴黎/i, "Europe/Paris"],
  [/\bmadrid\b|马德里/i, "Europe/Madrid"],
  [/\brome\b|罗马/i, "Europe/Rome"],
  [/\bnew york\b|纽约/i, "America/New_York"],
  [/\bchicago\b|芝加哥/i, "America/Chicago"],
  [/\b(?:san francisco|los angeles|seattle)\b|旧金山|洛杉矶|西雅图/i, "America/Los_Angeles"],
  [/\bsydney\b|悉尼/i, "Australia/Sydney"],
];

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** Translates the result of the built-in tool; other results stay unchanged. */
function formatChinese(result: string): string {
  const [, weekday = "", date = "", time = "", zone = ""] =
    /^(\w+), (\d{4}-\d\d-\d\d), (\d\d:\d\d:\d\d) in (\S+) \(/.exec(result) ?? [];
  const day = "日一二三四五六"[WEEKDAYS.indexOf(weekday)];
  return day === undefined ? result : `${date} 星期${day} ${time}（${zone}）`;
}

/** Passes the zone under the parameter name of the tool. A tool without one returns the local time. */
function nameZone({ inputSchema }: ModelTool, zone: string): { readonly [name: string]: Json } {
  const { properties } = inputSchema;
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  const name = names.find((one) => /^(?:time[-_]?zone|tz|zone)$/i.test(one));
  return name === undefined ? {} : { [name]: zone };
}

function trimStop(text: string): string {
  return text.trim().replace(/[.。]$/, "");
}
