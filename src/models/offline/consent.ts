/**
 * The skill of asking first: for the tool `ask_consent`. What is asked for after it waits for the answer; where the user
 * wants to be asked "first", that is all of the message.
 */
import type { FoundErrand, Skill } from "./errand.ts";
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
    // One question is enough.
    const match = ASKED.exec(text);
    if (match === null || NOT_MEANT.test(text.slice(Math.max(0, match.index - 24), match.index))) return [];
    const end = match.index + match[0].length;
    const step = BEFORE.exec(text.slice(end, end + MAX_STEP));
    const what = (step?.[1] ?? step?.[2] ?? "").trim();
    return [createErrand({ at: match.index, end }, { what, isZh: isChinese(match[0]), isFirst: FIRST.test(text) })];
  },
};

const MAX_STEP = 200;

const ASKED =
  /\b(?:ask|request|get|need|want|seek|require)(?: (?:me|us|the user))?(?: (?:for|to give))? (?:my |our |your |user |the user['’]s )?(?:approval|permission|consent|confirmation|agreement|go-ahead)\b(?: first\b)?|\bask (?:me|us) (?:first|before)\b|\b(?:show|demo|demonstrate|test|try|trigger|start)(?: me)? (?:an?|the) (?:approval|consent|confirmation)(?: (?:request|question|dialog))?\b|(?:征求|征得|请求|取得|得到|需要|获得|要)(?:一下)?(?:我|用户)?的?(?:同意|许可|批准|确认|授权|审批)(?![吗么])|先(?:问|询问)(?:一下)?我|(?:演示|测试|试)(?:一下|一个|一次)?(?:审批|批准|确认)/i;
const NOT_MEANT =
  /\b(?:not|never|don['’]t|without|how (?:do|can|to)(?: (?:i|you|we))?|i|did you|why do you|you)\s?$|不[用必要]{0,2}$|无需$/i;
const FIRST = /\bfirst\b|先/i;
/** "… before you delete it": what it is about. */
const BEFORE =
  /^\s{0,4}(?:first )?(?:before (?:you |we )?|to |for )((?:[^.!?;\n]|[.!?](?!\s|$)){1,120})|^[，,]?\s{0,4}(?:再|然后|才能?|之?后再?)\s{0,2}([^。！？；\n]{1,80})/i;

interface Details {
  readonly what: string;
  readonly isZh: boolean;
  readonly isFirst: boolean;
}

function createErrand(
  { at, end }: { readonly at: number; readonly end: number },
  { what, isZh, isFirst }: Details,
): FoundErrand {
  const [plain, about] = isZh
    ? ["可以继续吗？", `可以继续吗（${what}）？`]
    : ["May I go on?", `May I go on (${what})?`];
  return {
    tool: "ask_consent",
    at,
    end,
    about: { en: "your consent", zh: "征求同意" },
    isConsent: true,
    ...(isFirst ? { isFirst } : {}),
    createInput: () => ({ question: what === "" ? plain : about }),
    tell: () => ({ en: "You agreed.", zh: "你同意了。" }),
  };
}
