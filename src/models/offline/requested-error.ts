/**
 * Detects a request for an error. Messages that only mention errors, ask what one means or want one fixed do not count.
 */
import type { OfflineLanguage, BilingualText } from "./offline-task.ts";
import { isRequested } from "./is-requested.ts";
import { matchSome } from "./match-some.ts";

const END_ZH = String.raw`(?:错误|异常|故障|错)(?:吧|看看|试试|给我看看?|一下|好吗|吗){0,2}(?=\s{0,4}(?:$|[，。！？；,.!?;]))`;
const WANTED: readonly RegExp[] = [
  String.raw`\b(?:cause|throw|raise|produce|trigger|simulate|fake|make|give|show|create|demonstrate|force|return|(?:i want to|i['’]d like to|let me) see)(?: me| us)? (?:an?|some|one|any) (?:sample |test |fake |example |model |deliberate |demo )?(?:error|failure|exception|fault|crash)(?=\s{0,4}(?:$|[.!?,;]|please\b|on request\b|on purpose\b|now\b|for me\b|and then\b|so (?:that )?i\b|to see\b))`,
  String.raw`\b(?:fail|crash|break)(?: please| now| on purpose| for me| once){0,2}(?=\s{0,4}[.!?]{0,3}\s{0,9}$)`,
  String.raw`(?:我想|我要)?(?:出|报|抛出?|来|弄|产生|返回|显示|看)(?:一个|一次|一下|一条|个|次|条|下)${END_ZH}`,
  String.raw`(?:我想|我要)?(?:制造|触发|模拟|抛出|故意出)(?:一个|一次|一下|一条|个|次|条)?${END_ZH}`,
  String.raw`失败(?:一次|一下)?[吧。！!]{0,2}(?=\s{0,9}$)`,
].map((source) => new RegExp(source, "gi"));

const MESSAGES: BilingualText = {
  en: "The offline model failed on request.",
  zh: "离线模型按要求出错。",
};

/** Returns the error message to fail with, or undefined. */
export function findRequestedError(text: string, language: OfflineLanguage): string | undefined {
  const isWanted = WANTED.some((pattern) => matchSome(text, pattern).some(({ index }) => isRequested(text, index)));
  return isWanted ? MESSAGES[language] : undefined;
}
