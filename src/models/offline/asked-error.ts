/**
 * Whether somebody wants to see an error. Only a request is one: a message that speaks of errors, asks what one means or
 * wants one mended has nothing to do with it.
 */
import type { Language, Phrase } from "./errand.ts";

const WANTED: readonly RegExp[] = [
  /(?:^|[.!?,;:]\s{0,4}|\b(?:please|now|then|and|can you|could you|would you|want you to|like you to|i want to see|let me see|show me)\s{1,4})(?:(?:cause|throw|raise|produce|trigger|simulate|fake|make|give|show|create|demonstrate|force|return)(?: me| us)? )?(?:an?|some|one|any) (?:sample |test |fake |example |model |deliberate |demo )?(?:error|failure|exception|fault|crash)(?=\s{0,4}(?:$|[.!?,;]|please\b|on request\b|on purpose\b|now\b|for me\b|and then\b|so (?:that )?i\b|to see\b))/i,
  /^\s{0,9}(?:please |now |can you |could you ){0,2}(?:fail|crash|break)(?: please| now| on purpose| for me| once){0,2}\s{0,4}[.!?]{0,3}\s{0,9}$/i,
  /(?:^|[，。！？；,.!?;\s])(?:请|麻烦|帮我|给我|我想|我要|你|故意|能不能|可以){0,3}(?:出|报|抛出?|来|弄|产生|返回|显示|看)(?:一个|一次|一下|一条|个|次|条|下)(?:错误|异常|故障|错)(?:吧|看看|试试|给我看看?|一下|好吗|吗){0,2}\s{0,4}(?:$|[，。！？；,.!?;])/,
  /(?:^|[，。！？；,.!?;\s])(?:请|麻烦|帮我|给我|我想|我要|你|故意|能不能|可以){0,3}(?:制造|触发|模拟|抛出|故意出)(?:一个|一次|一下|一条|个|次|条)?(?:错误|异常|故障|错)(?:吧|看看|试试|给我看看?|一下|好吗|吗){0,2}\s{0,4}(?:$|[，。！？；,.!?;])/,
  /^\s{0,9}(?:请|请你)?(?:故意)?失败(?:一次|一下)?[吧。！!]{0,2}\s{0,9}$/,
];
/** "a failure" alone is no request; "show me an error" is. */
const BARE = /^(?:[.!?,;:\s]|please|now|then|and)*(?:an?|some|one|any) /i;

const MESSAGES: Phrase = {
  en: "The offline model failed because it was asked to.",
  zh: "离线模型应要求出错。",
};

/** The message to fail with. */
export function findAskedError(text: string, language: Language): string | undefined {
  const isWanted = WANTED.some((pattern) => {
    const found = pattern.exec(text);
    return found !== null && !BARE.test(found[0]);
  });
  return isWanted ? MESSAGES[language] : undefined;
}
