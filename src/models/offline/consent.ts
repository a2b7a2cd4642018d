/**
 * Approval, for the tool `ask_consent`. A request to ask first is handled before all other skills: the tasks after it
 * wait for the decision. With "first" it applies to the whole message.
 */
import type { FoundTask, Skill } from "./offline-task.ts";
import { isQuoted } from "./is-requested.ts";
import { isChinese } from "./request-words.ts";

export const consent: Skill = {
  abilities: [
    {
      tool: "ask_consent",
      can: { en: "ask for your approval", zh: "征求你的同意" },
      example: { en: "Ask me for approval", zh: "请先征求我的同意" },
    },
  ],
  find(text) {
    const found = findConsent(text);
    return found === undefined ? [] : [found];
  },
};

/** Returns the request to ask for approval, if there is one. One question is enough. */
export function findConsent(text: string): FoundTask | undefined {
  for (const match of text.slice(0, READ_CHARACTERS).matchAll(REQUEST)) {
    const { index: at } = match;
    const before = text.slice(Math.max(0, at - LOOK_BACK), at);
    const end = at + match[0].length;
    const isText = isQuoted(before) && /["”」`]/.test(text.slice(end, end + LOOK_BACK));
    if (NOT_MEANT.test(before) || isText || isItem(match, text)) continue;
    const steps = / before(?: you| we)?$/i.test(match[0]) ? STEP : LATER;
    const what = (steps.exec(text.slice(end, end + MAX_STEP))?.groups?.["what"] ?? "").trim();
    return createTask({ at, end }, { what, isZh: isChinese(match[0]), isFirst: FIRST.test(text) });
  }
  return undefined;
}

/** More than for other skills: a request at the end of a long message counts, too. */
const READ_CHARACTERS = 100_000;
const LOOK_BACK = 2000;
const MAX_STEP = 200;

const YES = "(?:approval|permission|consent|confirmation|agreement|go-ahead)";
const YES_ZH = "(?:同意|许可|批准|确认|授权|审批)";
/** "…, but please": part of the request. */
/** As in `REQUEST_EN`, `{0,4}` is for the compiler. */
const LEAD = String.raw`(?:[,;]?\s{1,3}(?:but|and|though|however)\s{1,3})?(?:\b(?:please|always|first|you (?:must|should|have to|need to)|make sure to|(?:don['’]t|do not) forget to|remember to)\s{1,3}){0,4}`;
const LEAD_ZH = "[，,；]?(?:但是?|不过|可是|并且?|请|你|要|必须|一定|记得|务必|得|之前|以前|前|时|首先){0,4}";
const BEFORE = String.raw`(?: before(?:hand)?\b(?: (?:you|we)\b)?)`;
/** Requests in English, after words such as "but please". */
const REQUESTS_EN = [
  String.raw`(?:ask|request|get|need|want|seek|require)(?: (?:me|us|the user))?(?: (?:for|to give))? (?:my |our |your |user |the user['’]s )?${YES}\b(?: first\b)?${BEFORE}?`,
  String.raw`(?:ask|check with|confirm with|consult)(?: (?:me|us))?(?: first\b${BEFORE}?|${BEFORE})`,
  String.raw`(?:wait for|(?:only )?with|not without) (?:my|our) ${YES}\b|not without asking\b(?: me)?`,
  String.raw`(?:only )?(?:after|once|when|if) (?:you (?:have |['’]ve )?(?:get|got|have|obtain(?:ed)?|receive[d]?|asked(?: me)? for)|i (?:have |['’]ve )?(?:give|gave|given)(?: you)?) (?:my |our )?${YES}\b`,
  String.raw`(?:only )?(?:after|once|when|if) i (?:have |['’]ve )?(?:agreed?|approved?|confirm(?:ed)?|sa(?:y|id) (?:yes|so|ok))\b`,
  String.raw`let me (?:approve|confirm)(?: (?:it|that|this))?(?: first)?\b`,
].join("|");
const REQUEST = new RegExp(
  [
    String.raw`${LEAD}\b(?:${REQUESTS_EN})`,
    String.raw`\b(?:show|demo|demonstrate|test|try|trigger|start)(?: me)? (?:an?|the) (?:approval|consent|confirmation)(?: (?:request|question|dialog))?\b`,
    `${LEAD_ZH}先?(?:征求|征得|请求|取得|得到|需要|获得|经过?|要)(?:一下)?(?:我|用户)?的?${YES_ZH}(?![吗么])`,
    `${LEAD_ZH}(?:先(?:问|询问)(?:一下|问)?我|问过我|先?[跟和与]我确认|[等让]我先?${YES_ZH}|我${YES_ZH}(?:了|之?后)(?=再|才))`,
    `(?:演示|测试|试)(?:一下|一个|一次)?(?:审批|批准|确认)`,
  ].join("|"),
  "gi",
);
const NOT_MEANT =
  /(?:\b(?:not|never|don['’]t|without|how (?:do|can|to)(?: (?:i|you|we))?|i|did you|why do you|(?<!\b(?:can|could|would|will|must|should) )you)|不[用必要]{0,2}|别|无需|怎么|如何)\s{0,2}$/i;
const FIRST = /\b(?:first|before(?:hand)?|but|only|once|without|unless)\b|先|之前|以前|但|经|才/i;
/** "… before you delete it", "…，再计算": what the approval is for. */
const STEP = /^\s{0,4}(?<what>(?:[^.!?;,\n]|[.!?,](?!\s|$)){1,120})/;
const LATER =
  /^\s{0,4}(?:to|for) (?<what>(?:[^.!?;,\n]|[.!?,](?!\s|$)){1,120})|^[，,]?\s{0,4}(?:再|然后|才能?|之?后再?)\s{0,2}(?<what>[^。！？；\n]{1,80})/i;

/** "todo list: get approval, ship it": a list item, because it does not say whom to ask. */
function isItem({ 0: words, index }: RegExpExecArray, text: string): boolean {
  if (/\b(?:me|us|my|our|i|first|before|but|without)\b|我|先|但/i.test(words)) return false;
  return /(?:list|todos?|to-do|清单|待办)[^:：.!?。！？\n]{0,40}[:：](?:[^.!?。！？]{0,400}[,，、;\n-])?\s{0,4}$/i.test(
    text.slice(Math.max(0, index - 500), index),
  );
}

interface ConsentDetails {
  readonly what: string;
  readonly isZh: boolean;
  readonly isFirst: boolean;
}

function createTask(
  { at, end }: { readonly at: number; readonly end: number },
  { what, isZh, isFirst }: ConsentDetails,
): FoundTask {
  const [plain, about] = isZh ? ["是否继续？", `是否继续（${what}）？`] : ["Continue?", `Continue (${what})?`];
  return {
    tool: "ask_consent",
    at,
    end,
    about: { en: "your approval", zh: "征求同意" },
    isConsent: true,
    ...(isFirst ? { isFirst } : {}),
    createInput: () => ({ question: what === "" ? plain : about }),
    describeResult: () => ({ en: "Approved.", zh: "已同意。" }),
  };
}
