/** The skill of the time: for the tool `current_time`, here or in a few well-known places. */
import { type Json, isJsonObject } from "../../protocol/index.ts";
import type { ModelTool } from "../model.ts";
import type { Skill } from "./errand.ts";

export const clock: Skill = {
  abilities: [{ tool: "current_time", can: { en: "tell the time", zh: "报时间" } }],
  find(text) {
    const match = ASKED.exec(text);
    if (match === null) return [];
    const zone = ZONES.find(([names]) => names.test(text))?.[1];
    return [
      {
        tool: "current_time",
        at: match.index,
        end: match.index + match[0].length,
        about: { en: "the time", zh: "时间" },
        createInput: (tool) => (zone === undefined ? {} : nameZone(tool, zone)),
        tell: (result) => ({ en: `It is ${trimStop(result)}.`, zh: `现在是 ${trimStop(result)}。` }),
      },
    ];
  },
};

const ASKED =
  /\bwhat(?:'s|’s| is)? (?:the )?(?:current |local )?(?:time|date|day)\b|\bcurrent (?:time|date)\b|\btime is it\b|\btime in [a-z]|\btoday(?:'s|’s) date\b|\bthe (?:time|date) (?:now|today)\b|几点|(?:现在|当前)的?时间|什么时间|今天.{0,3}(?:几号|日期|星期|礼拜)|星期几|现在时刻/i;

const ZONES: readonly (readonly [RegExp, string])[] = [
  [/\bUTC\b|\bGMT\b/i, "UTC"],
  [/\btokyo\b|东京/i, "Asia/Tokyo"],
  [/\b(?:beijing|shanghai)\b|北京|上海/i, "Asia/Shanghai"],
  [/\blondon\b|伦敦/i, "Europe/London"],
  [/\bberlin\b|柏林/i, "Europe/Berlin"],
  [/\bparis\b|巴黎/i, "Europe/Paris"],
  [/\bnew york\b|纽约/i, "America/New_York"],
  [/\bsan francisco\b|\blos angeles\b|旧金山|洛杉矶/i, "America/Los_Angeles"],
];

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
