/** Words that request something to show, and words that only mention it. */

/**
 * "make me a small …", "I would like another …": everything before the noun. `{0,4}` compiles faster than fewer
 * repetitions, of which V8 makes copies.
 */
export const REQUEST_EN = String.raw`(?:\b(?:make|create|show|draw|give|write|print|display|generate|build|render|prepare|draw up|start|set up|plot|paint|sketch)|\b(?:i|we) (?:would |really ){0,4}(?:need|want|like)|\bi['’]d like|\b(?:can|could|may) (?:i|we) (?:have|get|see))(?: (?:me|us|up|to see)){0,4}(?: (?:an?|the|my|our|another|some|one|new|small|little|short|simple|nice|quick|sample|example|demo|test|big)){0,4}`;

/** "列一个", "给我看一张", "画个". */
export const REQUEST_ZH = String.raw`(?:列|写|做|画|建|创建|生成|来|整理|制定|准备|弄|给我看?|新建|要|显示|展示|看)(?:出|一下)?(?:一个|一份|一张|一幅|个|份|张|幅)(?:简单的?|示例的?|新的?)?`;

const ONLY_MENTIONED =
  /(?:\b(?:what(?:['’]s| is| are| was)|why|who|which|explain|(?:told|asked|wants?|taught) (?:me|us|him|her|them)|(?:did|do|does|should|if|when) (?:you|i)|how (?:do|does|can|could|should|to)(?: (?:i|you|we|one))?|not|never|don['’]t|doesn['’]t|didn['’]t|cannot|can['’]t|i|we|they|he|she|to be|(?<!\b(?:can|could|would|will) )you)(?: (?:really|ever|an?|the|to|want)){0,2}|不(?:要|用|必)?|别|勿|没有?|什么是|如何|怎[么样]|为什么|(?<!根据|按照|依据|参照|参考|[用把将从])[他她它]们?)\s?$/i;

/**
 * Whether the words before a position make it a mention: "What is a to-do list", "I do not want a table", "how to draw
 * a chart".
 */
export function isOnlyMentioned(text: string, at: number): boolean {
  return ONLY_MENTIONED.test(text.slice(Math.max(0, at - 48), at));
}

export function isChinese(text: string): boolean {
  return /\p{Script=Han}/u.test(text);
}

/** Whether there are no words, or only polite ones. An example is then enough. */
export function isCourtesy(words: string): boolean {
  return /^(?:please|for me|now|here|as an example|example|something|anything|吧|看看|给我看看?|一下)?$/i.test(words);
}
