/**
 * Decides whether words are a request: they are where a request can begin, and nothing around them retracts it. Strict
 * on purpose, for skills that change something: "how do I delete a.txt", "do not delete it" and "he said: delete it"
 * are not requests. Words that a skill has taken are replaced with semicolons.
 */

/** Words that may come before a request. */
const OPENERS = String.raw`(?:[\s,，、•*()-]|\d{1,2}[.)、]|(?:please|kindly|and|then|also|now|next|first|finally|lastly|afterwards|after that|ok|okay|yes|hi|hello|hey|thanks|so|just|go ahead|(?:can|could|would|will) you|(?:i|we) (?:want|need|would like) you to|i['’]d like you to|let['’]s)\b|请|你|您|帮我|帮忙|麻烦|给我|然后|再|接着|并且?|同时|最后|首先|先|现在|也|还有|以及|就|直接|马上|立即|立刻|故意|能不能|能否|能|可以(?=[请帮你])|可否|我[想要]?[让请]|一下|好的?|之后)`;
const ONLY_OPENERS = new RegExp(`^${OPENERS}*$`, "i");

/** Another request in the same sentence: "calculate 2+2 and …". */
const REQUEST = new RegExp(
  String.raw`^${OPENERS}*(?:(?:write|save|store|put|create|make|read|show|open|print|list|delete|remove|erase|calculate|compute|evaluate|add|multiply|divide|subtract|draw|paint|plot|chart|ask|get|tell me|give me|what(?:['’]s| is) (?=[\d(-])|what(?:['’]s| is)? (?:the )?(?:current )?(?:time|date|day)|todo|to-do|bar|line|pie|table)\b|[\d(]|计算|算|画|做|列|写|创建|新建|把|将|读|打开|查看|显示|展示|保存|删|移除|生成|几点|今天|待办|清单|表格)`,
  "i",
);
const JOINED = /(?:[,，]|\b(?:and|then|please|also)|然后|再|并且?|接着|同时|最后|请|帮我)\s{0,4}$/i;
/** Words that turn a sentence into a statement or a question. */
const SPEAKING =
  /\b(?:not|never|no|cannot|\w{2,6}n['’]t|without|how|why|who|which|where|when|whenever|if|unless|whether|while|before|after|until|once|should|did|does|was|were|would|could|might|i|we|they|he|she|about|explain|says?|said|tells|told|means?|because|that|to (?:open|read|show|write|save|create|delete|remove)|scripts?|programs?|functions?|commands?|code|steps|instructions|tutorial|guide|story)\b|不|别|勿|没|如果|要是|假如|若|的话|当|怎|如何|为什么|为何|什么|是否|应该|会|解释|说|他|她|(?<![帮给诉让])我(?!的)|之前|以前|直到|除非|禁止|避免/i;

const BREAK = /[.!?](?=\s)|[。！？；;\n]/g;
const READ_BACK = 4000;

export function isRequested(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - READ_BACK), at);
  if (isQuotedMaterial(before)) return false;
  const sentence = readSentence(before);
  if (ONLY_OPENERS.test(sentence)) return true;
  const [opening] = REQUEST.exec(sentence) ?? [];
  return opening !== undefined && JOINED.test(sentence) && !SPEAKING.test(sentence.slice(opening.length));
}

function readSentence(before: string): string {
  return before.slice(findLast(before, BREAK) + 1);
}

/** Returns the last position of a match, or -1. */
function findLast(text: string, pattern: RegExp): number {
  let last = -1;
  for (const { index } of text.matchAll(pattern)) last = index;
  return last;
}

/**
 * Whether the position is in a quotation, a code block, a text to work on, or after a colon that does not introduce a
 * list or chart.
 */
function isQuotedMaterial(before: string): boolean {
  return (
    isQuoted(before) ||
    TEXT_WORK.test(before) ||
    [...before.matchAll(COLON)].some(({ index }) => !isOurColon(before, index))
  );
}

export function isQuoted(before: string): boolean {
  if (before.split('"').length % 2 === 0 || before.split("```").length % 2 === 0) return true;
  if (findLast(before, /(?<!\w)['‘](?=\w)/g) > findLast(before, /['’](?!\w)/g)) return true;
  return before.lastIndexOf("“") > before.lastIndexOf("”") || before.lastIndexOf("「") > before.lastIndexOf("」");
}

const TEXT_WORK =
  /\b(?:summari[sz]e|translate|explain|rewrite|rephrase|paraphrase|proofread|correct|review|analy[sz]e|describe|quote|what does)\b|总结|翻译|解释|改写|润色|校对|分析|什么意思/i;
const COLON = /:(?=\s|$)|：/g;
const OURS =
  /(?:\b(?:list|table|chart|graph|plot|todos?|to-do|draw|calculate|compute|what is|24)|清单|待办|列表|表|图|算|点)[^:：.!?。！？\n]{0,40}$/i;

function isOurColon(before: string, at: number): boolean {
  return OURS.test(before.slice(Math.max(0, at - 60), at));
}

/** What may directly follow a request. */
const AFTER =
  /^\s{0,4}(?:$|[.!,;)\n。！，；、）]|(?:and|then|please|now|for me|right (?:now|away)|immediately|too|as well|again|(?:from|in) (?:the|my|this) \w+|thanks|thank you)\b|然后|再|并|接着|吧|谢谢|文件|中|里|内|和|以及|同时|最后)/i;
const ASKING = /^\s{0,4}(?:[?？]|[好行]?吗|可以吗)/;
const POLITE = /\b(?:please|(?:can|could|would|will) you)\b|请|帮|麻烦|你|您/i;
const TAKEN_BACK =
  /^[\s,，;；-]{0,6}(?:(?:if|unless|when|once|or|but|only|not|never|except|until|after|before)\b|不过|但|如果|除非|要是|否则|会)|^[\s,，;；.。!！-]{0,6}(?:(?:no|just kidding|never mind)\b|不要?|别|算了)/i;

/** Whether the text after a request leaves it in force: no condition, no retraction, no question whether to do it. */
export function isUnconditional(text: string, { at, end }: { readonly at: number; readonly end: number }): boolean {
  const after = text.slice(end, end + 80);
  // Words that other skills have taken belong to the same question.
  const before = text.slice(Math.max(0, at - READ_BACK), at).replaceAll(";", ",");
  if (ASKING.test(after)) return POLITE.test(readSentence(before));
  return AFTER.test(after) && !TAKEN_BACK.test(after);
}
