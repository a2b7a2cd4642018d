/** Simple drawings in plain colours. For the tool `show_image`. */
import { type Colour, type Drawing, drawSvg, type DrawnShape } from "./draw-svg.ts";
import type { FoundTask, BilingualText, Skill } from "./offline-task.ts";
import { matchSome } from "./match-some.ts";
import { readBody } from "./read-body.ts";
import { isChinese, isOnlyMentioned } from "./request-words.ts";

export const images: Skill = {
  abilities: [
    {
      tool: "show_image",
      can: { en: "draw simple shapes", zh: "画简单图形" },
      example: { en: "Draw a red circle and a house", zh: "画一个红色的圆" },
    },
  ],
  find(text) {
    const found: FoundTask[] = [];
    for (const one of [...findDrawn(text), ...findAny(text)])
      if (!found.some((other) => one.at < other.end && other.at < one.end)) found.push(one);
    return found;
  },
};

interface DrawingWord<Name extends string> {
  readonly name: Name;
  readonly words: RegExp;
  readonly zh: string;
}

const SHAPES: readonly (DrawingWord<DrawnShape> & { readonly colour: Colour })[] = [
  { name: "circle", words: /\b(?:circle|disc|ball|dot)s?\b|圆形|圆圈|圆|球/i, zh: "圆", colour: "blue" },
  { name: "rectangle", words: /\brectangles?\b|长方形|矩形/i, zh: "长方形", colour: "blue" },
  { name: "square", words: /\b(?:square|box)(?:es)?\b|正方形|方块|方形/i, zh: "正方形", colour: "blue" },
  { name: "triangle", words: /\btriangles?\b|三角形?/i, zh: "三角形", colour: "green" },
  { name: "star", words: /\bstars?\b|五角星|星星|星形/i, zh: "星星", colour: "yellow" },
  { name: "heart", words: /\bhearts?\b|爱心|心形|红心/i, zh: "心", colour: "red" },
  { name: "house", words: /\b(?:house|home|hut)s?\b|房子|房屋|小屋|屋子/i, zh: "房子", colour: "orange" },
  { name: "tree", words: /\btrees?\b|大?小?树/i, zh: "树", colour: "green" },
  { name: "sun", words: /\bsuns?\b|太阳/i, zh: "太阳", colour: "yellow" },
  { name: "flower", words: /\bflowers?\b|花/i, zh: "花", colour: "pink" },
  { name: "smiley", words: /\b(?:smiley|smile|smiling face|face|emoji)s?\b|笑脸|脸/i, zh: "笑脸", colour: "yellow" },
];

const COLOURS: readonly DrawingWord<Colour>[] = [
  { name: "red", words: /\bred\b|红/i, zh: "红色" },
  { name: "orange", words: /\borange\b|橙|橘/i, zh: "橙色" },
  { name: "yellow", words: /\b(?:yellow|gold(?:en)?)\b|黄|金色/i, zh: "黄色" },
  { name: "green", words: /\bgreen\b|绿/i, zh: "绿色" },
  { name: "blue", words: /\bblue\b|蓝/i, zh: "蓝色" },
  { name: "purple", words: /\b(?:purple|violet)\b|紫/i, zh: "紫色" },
  { name: "pink", words: /\bpink\b|粉/i, zh: "粉色" },
  { name: "brown", words: /\bbrown\b|棕|褐/i, zh: "棕色" },
  { name: "black", words: /\bblack\b|黑/i, zh: "黑色" },
  { name: "white", words: /\bwhite\b|白/i, zh: "白色" },
  { name: "grey", words: /\bgr[ae]y\b|灰/i, zh: "灰色" },
];

const MAX_DRAWINGS = 6;
const WORDS_AROUND = 60;

/** A request to draw; the subject follows. */
const DRAW =
  /\b(?:draw|paint|sketch)(?: me| us)?\s|\b(?:show|make|create|give|generate)(?: me| us)?(?: an?| the)? (?:image|picture|drawing|svg|pic) (?:of|with|showing)\s|\bshow me (?=(?:an?|the) (?:red|orange|yellow|green|blue|purple|pink|brown|black|white|gr[ae]y) )|画(?:一|个|出|只|颗|朵|张|幅|座|棵|条|下)*(?=\S)/gi;
/** What may come before a request, as opposed to a report: "she told me to draw a house", "他画的圆". */
const ASKED =
  /(?:^|[.!?,;，。！？；、\n]|\b(?:please|and|then|now|also|just|ok|okay|hi|hello|let['’]s|help me|you|you to)|请|帮我|给我|为我|替我|麻烦|然后|再|并|接着|同时|先|你|能|可以|来|直接|用\S{1,12})\s{0,4}$/i;

function findDrawn(text: string): readonly FoundTask[] {
  return matchSome(text, DRAW).flatMap((match) => {
    const at = match.index;
    const body = readBody(text, at + match[0].length);
    if (!ASKED.test(text.slice(Math.max(0, at - 24), at)) || isOnlyMentioned(text, at)) return [];
    const { drawings, left } = readDrawings(body.text, isChinese(match[0]));
    if (drawings.length === 0) return [];
    return [createTask({ at, end: body.end }, drawings, isChinese(match[0]), left)];
  });
}

interface DrawingRequest {
  readonly drawings: readonly Drawing[];
  /** Words that describe more than can be drawn. */
  readonly left: readonly string[];
}

const PARTS = /,| and | with | & |，|、|和|与|以及/i;

/** Reads the shapes one by one: "a red circle and two blue squares", "红色的圆和蓝色的方块". */
function readDrawings(words: string, isZh: boolean): DrawingRequest {
  const drawings: Drawing[] = [];
  const left: string[] = [];
  let colours: Colour[] = [];
  for (const part of words.slice(0, MAX_DRAWINGS * WORDS_AROUND).split(PARTS)) {
    const colour = COLOURS.find((one) => one.words.test(part))?.name;
    const shape = isThing(part, isZh) ? findShape(part) : undefined;
    const rest = listRest(part);
    // "A red and a blue circle": the colour applies to the next shape.
    if (shape === undefined && colour !== undefined && rest.length === 0) colours.push(colour);
    else if (shape === undefined) left.push(part.trim());
    else {
      for (const other of colours) drawings.push({ shape: shape.name, colour: other });
      for (let n = readCount(part); n > 0; n--) drawings.push({ shape: shape.name, colour: colour ?? shape.colour });
      left.push(...rest);
      colours = [];
    }
  }
  left.push(
    ...drawings
      .slice(MAX_DRAWINGS)
      .map(({ shape, colour }) => describeDrawing({ shape, colour }, 1)[isZh ? "zh" : "en"]),
  );
  const beyond = words.slice(MAX_DRAWINGS * WORDS_AROUND) === "" ? [] : ["…"];
  return { drawings: drawings.slice(0, MAX_DRAWINGS), left: [...left.filter((one) => one !== ""), ...beyond] };
}

/** The last word is the noun: "a house tree" is a tree, "圆形的房子" a house. */
function findShape(part: string): (typeof SHAPES)[number] | undefined {
  const named = SHAPES.map((shape) => ({ shape, at: lastIndexOf(shape.words, part) })).filter(({ at }) => at >= 0);
  return named.sort((a, b) => b.at - a.at)[0]?.shape;
}

const COUNTS = ["two", "three", "four", "five", "six"];
const COUNTS_ZH = ["[两二]", "三", "四", "五", "六"];
const MEASURE = "[个只颗朵张幅座棵条间栋]";

function readCount(part: string): number {
  const place = COUNTS.findIndex((word, index) =>
    new RegExp(`\\b(?:${word}|${index + 2})\\b|(?:${COUNTS_ZH[index] ?? ""}|${index + 2}\\s?)${MEASURE}`, "i").test(
      part,
    ),
  );
  return place < 0 ? 1 : place + 2;
}

const KNOWN = new RegExp(
  [
    ...[...SHAPES, ...COLOURS].map(({ words }) => words.source),
    String.raw`\b(?:an?|the|one|${COUNTS.join("|")}|[1-6]|some|me|us|of|in|and|plain|simple|nice|coloured|colored|please|for|just|another|image|picture|drawing|here|now|thanks?)\b`,
    `[一两二三四五六1-6]?\\s?${MEASURE}`,
    "颜?色|的|一|吧|请|给我|看看?|呢|谢谢",
  ].join("|"),
  "gi",
);

function listRest(part: string): readonly string[] {
  const words = part.replaceAll(KNOWN, " ").match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.length === 0 ? [] : [words.join(" ")];
}

function lastIndexOf(words: RegExp, text: string): number {
  const all = [...text.matchAll(new RegExp(words.source, "gi"))];
  const last = all.at(-1);
  return last === undefined ? -1 : last.index + last[0].length;
}

/** Only short phrases: not "a circle of friends around the house that my father built". */
function isThing(part: string, isZh: boolean): boolean {
  return isZh ? part.trim().length <= 14 : part.trim().split(/\s+/).length <= 6;
}

const ANY =
  /\b(?:show|draw|make|create|give|generate|send|display|paint|sketch)(?: me| us)? (?:an?|some|any|the|another) ?(?:sample |example |nice |small |little |test |random )?(?:image|picture|drawing|pic)\b(?=\s{0,4}(?:$|[.!?,;]|and\b|please\b|to\b))|(?:给我看|显示|展示|画|来|看|发|生成)(?:一|个|张|幅|副|下)*(?:示例)?(?:图片|图画|图像|图|画)(?=\s{0,4}(?:$|[。！？，.!?]|吧|看看|给我))/gi;
const EXAMPLE: readonly Drawing[] = [
  { shape: "house", colour: "orange" },
  { shape: "tree", colour: "green" },
  { shape: "sun", colour: "yellow" },
];

function findAny(text: string): readonly FoundTask[] {
  return matchSome(text, ANY)
    .filter(({ index }) => !isOnlyMentioned(text, index))
    .map((match) => createTask({ at: match.index, end: match.index + match[0].length }, EXAMPLE, isChinese(match[0])));
}

/** Whether the user wants a drawing of anything. */
export function asksToDraw(text: string): boolean {
  return /^\s{0,9}(?:(?:please|can you|could you) )?(?:(?:draw|paint|sketch) |(?:show|make|create|give|generate)(?: me)?(?: an?| the)? (?:image|picture|drawing) of )|^(?:请|帮我|给我)?画/i.test(
    text,
  );
}

/** The shapes that can be drawn. */
export const DRAWABLE: BilingualText = {
  en: SHAPES.map(({ name }) => name).join(", "),
  zh: SHAPES.map(({ zh }) => zh).join("、"),
};

function createTask(
  place: { readonly at: number; readonly end: number },
  drawings: readonly Drawing[],
  isZh: boolean,
  left: readonly string[] = [],
): FoundTask {
  const counts = new Map<string, { readonly drawing: Drawing; count: number }>();
  for (const drawing of drawings) {
    const key = `${drawing.colour} ${drawing.shape}`;
    const known = counts.get(key);
    if (known === undefined) counts.set(key, { drawing, count: 1 });
    else known.count++;
  }
  const names = [...counts.values()].map(({ drawing, count }) => describeDrawing(drawing, count));
  const about = { en: names.map(({ en }) => en).join(", "), zh: names.map(({ zh }) => zh).join("、") };
  const said = left.map((words) => (words.match(/[\p{L}\p{N}'’…-]+/gu) ?? []).join(" ").slice(0, WORDS_AROUND));
  const note =
    left.length === 0
      ? { en: "", zh: "" }
      : {
          en: ` I can draw at most ${MAX_DRAWINGS} simple shapes, so I left out: ${said.join(", ")}.`,
          zh: `我最多能画 ${MAX_DRAWINGS} 个简单图形，没有画：${said.join("、")}。`,
        };
  return {
    tool: "show_image",
    ...place,
    about,
    createInput: () => ({ svg: drawSvg(drawings), alt: isZh ? about.zh : about.en }),
    describeResult: () => ({ en: `I drew ${about.en}.${note.en}`, zh: `画好了：${about.zh}。${note.zh}` }),
  };
}

function describeDrawing({ shape, colour }: Drawing, count: number): BilingualText {
  const zh = `${COLOURS.find(({ name }) => name === colour)?.zh ?? ""}的${SHAPES.find(({ name }) => name === shape)?.zh ?? ""}`;
  if (count > 1) return { en: `${count} ${colour} ${shape}s`, zh: `${count} 个${zh}` };
  return { en: `a ${colour} ${shape}`.replace(/^a (?=[aeiou])/, "an "), zh };
}
