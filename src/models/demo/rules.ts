/**
 * The table of rules of the demo model: the words of a message, the tool call for them, and the sentence about its
 * result. The words of a match are removed from the message before the next rule reads it, so the order counts.
 *
 * Invariant: a rule that changes files matches only a direct order at the start of a clause. "How do I delete a.txt?"
 * and "do not delete a.txt" match none.
 */
import type { Json } from "../../protocol/index.ts";
import { isJsonObject, parseJson } from "../../protocol/json.ts";
import type { ModelTool } from "../model.ts";
import { GENERAL_ITEMS, type Say } from "./demo-texts.ts";
import type { DemoConversation } from "./read-conversation.ts";
import { createTask, type DemoTask, fillSchema, searchFor, searchForSteps } from "./demo-task.ts";

/** What a rule reads beside the words that it matches. The message still has the words of all rules. */
interface RuleContext extends DemoConversation {
  readonly say: Say;
  readonly tools: ReadonlyMap<string, ModelTool>;
}

interface DemoRule {
  /** Words that ask for it, with named groups. */
  readonly words: RegExp;
  readonly create: (
    groups: { readonly [name: string]: string | undefined },
    context: RuleContext,
  ) => readonly DemoTask[];
}

/** The start of a clause that gives an order. */
const ORDER = String.raw`(?<=^\s{0,4}|[.!?;:,，。！？；：]\s{0,4}|\b(?:and|then|please)\s{1,4}|请|再|然后|并|帮我|给我|后|先)`;
const FILE = String.raw`(?:the )?(?:file )?[“"\x60]?(?<path>[\w-][\w./-]*\.\w{1,8})[”"\x60]?`;
const FILE_ZH = String.raw`(?:文件)?\s*(?<pathZh>[\w-][\w./-]*\.\w{1,8})`;
/** A label and a number, as in "apples 3". A label does not begin with another request. */
const VALUE = String.raw`(?!\s*(?:and|then|并|再|然后))[^\d:：,，、;；\n]{1,40}\d+(?:\.\d+)?`;
const VALUES = String.raw`${VALUE}(?:(?:\s*[,，、]|\s+and(?=\s))${VALUE})*`;
const OPERAND = String.raw`\(*\s*\d+(?:\.\d+)?\s*\)*`;
const OPERATOR = String.raw`(?:[-+*/^×÷]|times|plus|minus|divided by|乘以|除以|[加减乘])`;

/** "Write the result to a.txt" */
const RESULT = /^(?:it|(?:the )?(?:result|answer)s?|结果|答案)$/i;

const KINDS: { readonly [kind: string]: string } = { 柱状: "bar", 折线: "line", 饼: "pie", 面积: "area" };

const ZONES: readonly (readonly [names: RegExp, zone: string])[] = [
  [/\btokyo\b|东京/i, "Asia/Tokyo"],
  [/\b(?:beijing|shanghai)\b|北京|上海/i, "Asia/Shanghai"],
  [/\blondon\b|伦敦/i, "Europe/London"],
  [/\bberlin\b|柏林/i, "Europe/Berlin"],
  [/\bparis\b|巴黎/i, "Europe/Paris"],
  [/\bnew york\b|纽约/i, "America/New_York"],
];

const SIGNS: readonly (readonly [words: RegExp, sign: string])[] = [
  [/×|times|乘以?/gi, "*"],
  [/÷|divided by|除以?/gi, "/"],
  [/plus|加/gi, "+"],
  [/minus|减/gi, "-"],
  [/\s+/g, ""],
];

export const RULES: readonly DemoRule[] = [
  // Call roll_dice with 20: for the tools of users.
  rule(
    String.raw`(?:\b(?:call|use|run)|调用|使用)\s*(?:the )?(?:tool |工具)?\s*[\x60“"]?(?<tool>[a-z]\w+)[\x60”"]?(?:\s*(?:with|for|on|[:：，,])?\s+(?<given>[^\n]+))?`,
    ({ tool = "", given = "" }, { tools }) => {
      const offered = tools.get(tool);
      if (offered === undefined) return [];
      const words = given.trim().replace(/[.。!！]$/, "");
      const input = words.startsWith("{") ? parseJson(words) : fillSchema(offered.inputSchema, words);
      return [createTask(tool, tool, isJsonObject(input) ? input : {}, (result) => `${tool}: ${result}`)];
    },
  ),
  rule(
    String.raw`${ORDER}(?:(?:cause|make|throw|raise|trigger|simulate|show|give)(?: me)? an? (?:\w+ )?(?:error|failure|exception)\b|fail on purpose|(?:出|制造|触发|模拟|抛出|来)(?:一?[个次下])?(?:错误|错|异常)|故意出错)`,
    () => [{ ...createTask("", "", {}, ""), isFault: true }],
  ),
  // The words of the step are left for the other rules.
  rule(
    String.raw`(?:\bask (?:me )?(?:for (?:my )?(?:approval|permission)|first)|先?(?:征求|征得|请求)一?下?我的?(?:同意|许可|批准)|先问我)(?:(?=,? (?:then|before you|to) (?<step>[^.;!?\n]+))|(?=[，,]?\s*再\s*(?<stepZh>[^。；\n]+))|)`,
    ({ step, stepZh = "" }, { say }) => {
      const words = (step ?? stepZh).trim();
      const what = words === "" ? "" : say(` (${words})`, `（${words}）`);
      const question = say(`Continue${what}?`, `是否继续${what}？`);
      const asked = createTask(
        "ask_consent",
        say("your approval", "征求同意"),
        { question },
        say("Approved.", "已同意。"),
      );
      return [{ ...asked, isConsent: true }];
    },
  ),
  // Search the deployment docs and make a checklist
  rule(
    String.raw`${ORDER}(?:search|look up|find) (?:the |our )?(?<query>[^.;,\n]{2,80}?),? (?:and|then)(?: then)? (?:make|create|write) an? (?:check|to-?do )? ?list\b|(?:搜索|查找|查一?下)(?<queryZh>[^，。；\n]{2,40}?)[，,]?(?:然后|再|并)(?:创建|生成|列出?|整理|写)(?:一?[个份张])?(?<title>[^，。；\n]{0,20}清单)`,
    ({ query, queryZh = "", title }, { language }) => searchForSteps(query ?? queryZh, title, language),
  ),
  rule(
    String.raw`${ORDER}(?:write|save|put) [“"']?(?<content>[^\n]{1,1000}?)[”"']? (?:in)?to ${FILE}|[把将]\s*[“"']?(?<contentZh>[^\n]{1,1000}?)[”"']?\s*(?:写入|写到|保存到|存到)${FILE_ZH}`,
    ({ pathZh = "", path = pathZh, contentZh = "", content = contentZh }, { say }) => {
      const said = say(`Wrote ${path}.`, `已写入 ${path}。`);
      const task = { ...createTask("write_file", say(`write ${path}`, `写入 ${path}`), { path, content }, said), path };
      if (!RESULT.test(content)) return [task];
      const createInput: DemoTask["createInput"] = (earlier) =>
        earlier === "" ? undefined : { path, content: earlier };
      return [{ ...task, isLater: true, createInput }];
    },
  ),
  rule(
    String.raw`${ORDER}(?:(?:delete|remove) (?:${FILE}|it\b)|(?:删除|删掉)${FILE_ZH})`,
    ({ path: en, pathZh }, { message, say }) => {
      const path = en ?? pathZh ?? findPath(message);
      const said = say(`Deleted ${path}.`, `已删除 ${path}。`);
      return [{ ...createTask("delete_file", say(`delete ${path}`, `删除 ${path}`), { path }, said), path }];
    },
  ),
  rule(
    String.raw`${ORDER}(?:(?:read|show|open) (?:${FILE}|it\b)|(?:读取|打开|查看)${FILE_ZH})`,
    ({ path: en, pathZh }, { message, say }) => {
      const path = en ?? pathZh ?? findPath(message);
      const describe: DemoTask["describe"] = (result) =>
        say(`Contents of ${path}:\n${result}\n`, `${path} 的内容：\n${result}\n`);
      return [{ ...createTask("read_file", say(`read ${path}`, `读取 ${path}`), { path }, describe), path }];
    },
  ),
  rule(
    String.raw`${ORDER}search (?:all )?(?:the )?files for [“"']?(?<en>[^.!?;,\n”"]+)|在?文件[中里](?:搜索|查找)\s*“?(?<zh>[^，。！？；\n”]+)`,
    ({ zh = "", en: query = zh }, { say }) => {
      const describe: DemoTask["describe"] = (result) => say(`Matches:\n${result}\n`, `匹配结果：\n${result}\n`);
      return [{ ...createTask("search_files", say("search the files", "搜索文件"), { query }, describe), path: "" }];
    },
  ),
  rule(String.raw`\blist (?:all )?(?:the )?files\b|\bwhat files\b|列出(?:所有)?文件|有哪些文件`, (_, { say }) => {
    const describe: DemoTask["describe"] = (result) => say(`Files:\n${result}\n`, `文件：\n${result}\n`);
    return [{ ...createTask("list_files", say("list the files", "列出文件"), {}, describe), path: "" }];
  }),
  // Make a table: name, age; Ann, 31; Bob, 29
  rule(String.raw`(?:\btable|表格)\s*[:：]\s*(?<body>[^\n]+)`, ({ body = "" }, { say }) => {
    const lines = body.split(/[;；]/).map((row) => row.split(/[,，、]/).map((cell) => cell.trim()));
    const [columns = [], ...given] = lines;
    const readCell = (cell = ""): Json => (/^-?\d+(?:\.\d+)?$/.test(cell) ? Number(cell) : cell);
    const rows = given.map((row) => columns.map((_, index) => readCell(row[index])));
    const said = say(`Here is the table, with ${count(rows.length, "row")}.`, `表格已显示，共 ${rows.length} 行。`);
    return [createTask("show_table", say("a table", "表格"), { columns, rows }, said)];
  }),
  // Draw a bar chart of the budget: design 8, build 20
  rule(
    String.raw`(?:\b(?<en>bar|line|pie|area) chart|\bchart|(?<zh>柱状|折线|饼|面积)图|图表)(?: of| for|显示|展示)?(?: the)?\s*(?:(?<title>[^:：,，\d\n]{0,40})[:：])?(?<given>${VALUES})`,
    ({ zh = "柱状", en, title = "", given = "" }, { say }) => {
      const points = [...given.matchAll(/(?:^|[,，、]|\sand\s)\s*([^\d,，、]+?)\s*(\d+(?:\.\d+)?)/gi)];
      const input = {
        kind: en?.toLowerCase() ?? KINDS[zh] ?? "bar",
        ...(title.trim() === "" ? {} : { title: title.trim() }),
        labels: points.map(([, label = ""]) => label),
        series: [{ name: say("value", "数值"), values: points.map(([, , value]) => Number(value)) }],
      };
      const many = points.length;
      const said = say(`Here is the chart, with ${count(many, "value")}.`, `图表已画好，共 ${many} 个数据。`);
      return [createTask("show_chart", say("a chart", "图表"), input, said)];
    },
  ),
  rule(
    String.raw`(?:\b(?:to-?do|check|shopping|packing) ?list(?: for (?:an? |the )?(?<en>[^:：,;.!?\n]{1,60}))?|(?:列(?:出|一个|一份)?(?<zh>[^:：，。；\n]{1,30}?)的?)?(?:待办清单|待办事项|清单))(?:\s*[:：]\s*(?<given>[^;；.。!！?？\n]+))?`,
    ({ zh = "", en = zh, given = "" }, { language, say }) => {
      const own = given.split(/[,，、]/).map((item) => item.trim().replace(/^and /i, ""));
      const isGiven = given.trim() !== "";
      const items = isGiven ? own.filter((item) => item !== "") : GENERAL_ITEMS[language];
      const title = en.trim().replace(/^./, (first) => first.toUpperCase());
      const input = { ...(title === "" ? {} : { title }), items: items.map((text) => ({ text })) };
      const named = title === "" ? "" : say(` “${title}”`, `“${title}”`);
      const said = say(
        `Here is the list${named}, with ${count(items.length, "item")}.`,
        `清单${named}已列好，共 ${items.length} 项。`,
      );
      const general = say(
        " These are general suggestions; add your own items after a colon.",
        "这些是通用建议，可以在冒号后写自己的条目。",
      );
      return [createTask("write_todo_list", say("a to-do list", "待办清单"), input, isGiven ? said : said + general)];
    },
  ),
  rule(
    String.raw`\bmark (?<item>[^.;,\n]+?) as (?<not>not )?done\b|\bcheck off (?<checked>[^.;,\n]+)|[把将](?<zh>[^，。；\n]+?)(?:勾掉|标记为完成)`,
    ({ zh = "", checked = zh, item = checked, not }, { lists, say }) => {
      const known = lists.flatMap(({ id, items }) => items.map((one) => ({ listId: id, ...one })));
      const found = known.find(({ text }) => text.toLowerCase().includes(item.trim().toLowerCase()));
      if (found === undefined) return [];
      const { listId, id, text } = found;
      const said =
        not === undefined
          ? say(`Marked “${text}” as done.`, `已勾选“${text}”。`)
          : say(`Marked “${text}” as not done.`, `已取消勾选“${text}”。`);
      const input = { list_id: listId, item_id: id, completed: not === undefined };
      return [createTask("update_todo_item", say(`the item “${text}”`, `条目“${text}”`), input, said)];
    },
  ),
  rule(
    String.raw`(?:\bdraw(?: me)? an?|画一?[个颗张]?)\s*(?<what>[^\s.;,，。；][^.;,，。；\n]{0,39})`,
    ({ what = "" }, { say }) => {
      const { svg, alt = "" } = drawShape(what, say) ?? {};
      if (svg === undefined) return [];
      return [createTask("show_image", alt, { svg, alt }, say(`I drew ${alt}.`, `画好了：${alt}。`))];
    },
  ),
  rule(
    String.raw`\bwhat time\b|\bcurrent time\b|\bwhat(?:['’]s| is) the time\b|几点|当前时间|现在的?时间`,
    (_, { message, say }) => {
      const describe: DemoTask["describe"] = (result) => say(`It is ${result}.`, `现在是 ${result}。`);
      const named = ZONES.filter(([names]) => names.test(message)).map(([, zone]) =>
        createTask("current_time", say(`the time, ${zone}`, `时间，${zone}`), { time_zone: zone }, describe),
      );
      return named.length > 0 ? named : [createTask("current_time", say("the time", "时间"), {}, describe)];
    },
  ),
  rule(
    String.raw`(?<![\w.-])(?!\d{4}-\d\d-\d\d)(?<words>${OPERAND}(?:\s*${OPERATOR}\s*${OPERAND})+)(?!\w)`,
    ({ words = "" }, { say }) => {
      const expression = SIGNS.reduce((text, [sign, by]) => text.replaceAll(sign, by), words);
      const describe: DemoTask["describe"] = (result) => `${expression} = ${result}${say(".", "。")}`;
      return [createTask("calculator", expression, { expression }, describe)];
    },
  ),
  rule(
    String.raw`${ORDER}(?:search|look up|find)(?: (?:the |our )?(?:knowledge base|docs|documents|handbook))?(?: for| about)? (?<en>[^.!?;\n]{2,200})|(?:搜索|查找|查阅|查一?下)(?:知识库|文档)?[:：]?(?<zh>[^，。！？；\n]{2,100})`,
    ({ zh = "", en = zh }, { language }) => [searchFor(en, language)],
  ),
];

function rule(source: string, create: DemoRule["create"]): DemoRule {
  return { words: new RegExp(source, "gi"), create };
}

/** The file that "it" is. */
function findPath(message: string): string {
  return /[\w-][\w./-]*\.\w{1,8}/.exec(message)?.[0] ?? "";
}

const SHAPES = [
  [/circle|sun|圆|太阳/i, "circle", "圆", `circle cx="50" cy="50" r="40"`],
  [/square|box|正方形|方块/i, "square", "正方形", `rect x="12" y="12" width="76" height="76"`],
  [/triangle|三角/i, "triangle", "三角形", `polygon points="50,10 92,88 8,88"`],
  [/star|星/i, "star", "星星", `polygon points="50,6 61,38 95,38 68,58 78,92 50,71 22,92 32,58 5,38 39,38"`],
] as const;

const COLOURS = [
  [/\bred\b|红/i, "red", "红色", "#d62828"],
  [/\byellow\b|黄/i, "yellow", "黄色", "#f5c518"],
  [/\bgreen\b|绿/i, "green", "绿色", "#2e8b57"],
  [/\bblue\b|蓝/i, "blue", "蓝色", "#1d6fd1"],
  [/./, "grey", "灰色", "#8d99ae"],
] as const;

/**
 * Draws the first shape and colour that the words name as SVG; undefined without a shape. It uses only fixed texts, so the
 * words of a user never get into the image.
 */
function drawShape(words: string, say: Say): { readonly svg: string; readonly alt: string } | undefined {
  const [, shape, shapeZh, element] = SHAPES.find(([names]) => names.test(words)) ?? [];
  const [, colour, colourZh, fill] = COLOURS.find(([names]) => names.test(words)) ?? [];
  if (shape === undefined) return undefined;
  return {
    svg: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100" width="200" height="200"><${element} fill="${fill}"/></svg>`,
    alt: say(`a ${colour} ${shape}`, `${colourZh}的${shapeZh}`),
  };
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
