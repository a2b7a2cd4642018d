/** The skill of the time: for the tool `current_time`, here or in a few well-known places. */
import { type Json, isJsonObject } from "../../protocol/index.ts";
import type { ModelTool } from "../model.ts";
import type { Skill } from "./errand.ts";

export const clock: Skill = {
  abilities: [
    {
      tool: "current_time",
      can: { en: "tell the time", zh: "报时间" },
      example: { en: "What time is it in Tokyo?", zh: "现在北京几点？" },
    },
  ],
  find(text) {
    const match = ASKED.exec(text);
    if (match === null) return [];
    const end = match.index + match[0].length;
    const zones = ZONES.filter(([names]) => names.test(text)).map(([, zone]) => zone);
    // The time of another place is no answer.
    if (zones.length === 0 && ELSEWHERE.test(text.slice(end))) return [];
    return (zones.length === 0 ? [undefined] : zones).map((zone) => ({
      tool: "current_time",
      at: match.index,
      end,
      about: zone === undefined ? { en: "the time", zh: "时间" } : { en: `the time, ${zone}`, zh: `时间，${zone}` },
      createInput: (tool) => (zone === undefined ? {} : nameZone(tool, zone)),
      tell: (result) => ({ en: `It is ${trimStop(result)}.`, zh: `现在是 ${sayInChinese(trimStop(result))}。` }),
    }));
  },
};

/** "What is the time complexity", "what day was it" and "for the first time in years" ask for something else. */
const ASKED =
  /\bwhat(?:'s|’s| is)? (?:the )?(?:current |local )?(?:time|date|day)(?: and (?:time|date|day))?(?=\s*(?:$|[?.!,;]|(?:is it|it is|is today|now|today|in|and|right now|please|here)\b))|\bcurrent (?:time|date)\b|\btime is it\b|(?:^|\btell me )\s*(?:the )?time\b(?=\s*(?:$|[?.!,;]|in\b|and\b))|\btoday(?:'s|’s) date\b|\bthe (?:time|date) (?:now|today)\b|几点(?!了?[吃去来到开出下上睡起回见])|(?:现在|当前)的?(?:时间|日期)|什么时间[？?]?$|今天.{0,3}(?:几号|日期|星期|礼拜)|星期几|现在时刻/i;

const ELSEWHERE = /^\s*(?:is it\s*)?(?:now\s*|right now\s*)?in (?!the (?:morning|afternoon|evening)|here|my|this)/i;

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

/** As our own tool says it; what another one says stays as it is. */
function sayInChinese(result: string): string {
  const [, weekday = "", date = "", time = "", zone = ""] =
    /^(\w+), (\d{4}-\d\d-\d\d), (\d\d:\d\d:\d\d) in (\S+) \(/.exec(result) ?? [];
  const day = "日一二三四五六"[WEEKDAYS.indexOf(weekday)];
  return day === undefined ? result : `${date} 星期${day} ${time}（${zone}）`;
}

/** By the name the tool itself has for it; without one, the time here has to do. */
function nameZone({ inputSchema }: ModelTool, zone: string): { readonly [name: string]: Json } {
  const { properties } = inputSchema;
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  const name = names.find((one) => /^(?:time[-_]?zone|tz|zone)$/i.test(one));
  return name === undefined ? {} : { [name]: zone };
}

function trimStop(text: string): string {
  return text.trim().replace(/[.。]$/, "");
}
