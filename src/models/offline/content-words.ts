/** The words of a question that carry its meaning. */

const STOP = new Set(
  (
    "a about again all also am an and another any anything are as at be been but by can could did do does else ever for " +
    "from further get give go going good had has have he hello help here hey hi how i if in into is it its just kind know " +
    "let like look made make many may me mean means more much must my need needs next no not now of off ok okay on one or " +
    "other our out please really said say see shall she should show so some something sort such sure tell than thanks that " +
    "the their them then there these they thing things think this those to too up us use used using very want was we well " +
    "were what when where whether which who whom whose why will with work working works would yes you your explain " +
    "describe search find continue first finally kindly afterwards list"
  ).split(" "),
);
const STOP_ZH =
  /为什么|是什么|什么|怎么样|怎么办|怎么|怎样|如何|哪些|哪个|哪里|请问|有没有|能不能|可不可以|可以|一下|我们|你们|他们|这个|那个|这些|那些|一个|需要|想要|帮我|帮助|搜索|关于|有关|告诉|介绍|真的|继续|再说|说说|讲讲|更多|知道|然后|还有|[我你他她它请的了着们吗呢吧啊是有在和与会能要想做用说讲再还就也都很多好些个一不这那哪几为吃啥呀嗯哦]/g;
const READ_CHARACTERS = 400;
const MAX_TERMS = 40;

/** Whether the question contains anything to search for. "How?" and "tell me more" do not. */
export function hasContent(question: string): boolean {
  const text = question.slice(0, READ_CHARACTERS).toLowerCase();
  const words = text.match(/[\p{L}\p{N}_]+/gu) ?? [];
  return words.some((word) =>
    /\p{Script=Han}/u.test(word)
      ? word.replaceAll(STOP_ZH, "").replaceAll(/[a-z]+/g, (one) => (STOP.has(one) ? "" : one)) !== ""
      : !STOP.has(word) && !/^(?:s|t|re|ve|ll|d|m)$/.test(word),
  );
}

/** Lists search terms: beginnings of English words, because of inflection, and pairs of Chinese characters. */
export function listTerms(question: string): readonly string[] {
  const text = question.slice(0, READ_CHARACTERS).toLowerCase();
  const words = (text.match(/[a-z0-9_]{2,}/g) ?? []).filter((word) => !STOP.has(word));
  const runs = text.replaceAll(STOP_ZH, " ").match(/\p{Script=Han}{2,}/gu) ?? [];
  const pairs = runs.flatMap((run) =>
    Array.from(run, (character, index) => character + (Array.from(run)[index + 1] ?? "")),
  );
  const terms = [...words.map((word) => word.slice(0, 6)), ...pairs.filter((pair) => Array.from(pair).length === 2)];
  return [...new Set(terms)].slice(0, MAX_TERMS);
}

/** Counts the terms that occur in a text. */
export function countHits(terms: readonly string[], text: string): number {
  const words = text.toLowerCase();
  return terms.filter((term) => words.includes(term)).length;
}
