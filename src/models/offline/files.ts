/**
 * Files: write, delete, read, list and search, for the tools of a workspace. Only clear requests count; a file that is merely
 * mentioned, or must not be touched, is left alone. Patterns bound white space so that matching stays fast.
 */
import type { FoundTask, BilingualText, Skill } from "./offline-task.ts";
import { isUnconditional, isRequested } from "./is-requested.ts";
import { matchSome } from "./match-some.ts";
import { isOnlyMentioned } from "./request-words.ts";

export const files: Skill = {
  abilities: [
    {
      tool: "write_file",
      can: { en: "write text to a file", zh: "把文字写入文件" },
      example: { en: "Write hello to notes.txt", zh: "把“你好”写入 notes.txt" },
    },
    { tool: "delete_file", can: { en: "delete a file", zh: "删除文件" } },
    { tool: "read_file", can: { en: "read a file", zh: "读取文件" } },
    { tool: "search_files", can: { en: "search files", zh: "搜索文件" } },
    { tool: "list_files", can: { en: "list files", zh: "列出文件" } },
  ],
  find(text) {
    const found: FoundTask[] = [];
    let words = text;
    for (const match of listMatches(text)) {
      const { at, end, rule, content } = match;
      const paths = isTaken(content) ? [] : findPaths(match, found);
      if (paths.length === 0 || found.some((other) => at < other.end) || !isMeant(match, text, words)) continue;
      found.push(...paths.map((path) => createTask(rule, { at, end, path, content })));
      // Words of a task that was found do not affect the next one.
      words = words.slice(0, at) + ";".repeat(end - at) + words.slice(end);
    }
    return found;
  },
};

/** Whether the message mentions an operation on a file, requested or not. */
export function mentionsFiles(text: string): boolean {
  return listMatches(text).some(({ rule, paths }) => paths.length > 0 || rule.tool === "delete_file");
}

interface FileTaskMatch {
  readonly rule: FileRule;
  readonly at: number;
  readonly end: number;
  readonly paths: readonly string[];
  readonly content: string | undefined;
}

/** Lists matches in order of position; at the same position, the first rule wins. */
function listMatches(text: string): readonly FileTaskMatch[] {
  const matches = RULES.flatMap((rule) =>
    matchSome(text, rule.pattern).map((match): FileTaskMatch => {
      const { path, content } = match.groups ?? {};
      const end = match.index + match[0].length;
      const more = path === undefined || rule.tool === "write_file" ? { paths: [], end } : readMore(text, end);
      const paths = path === undefined ? [] : [path, ...more.paths];
      return { rule, at: match.index, end: more.end, paths, content };
    }),
  );
  return matches.sort((a, b) => a.at - b.at);
}

/** "Delete a.txt, b.txt and c.txt". */
function readMore(text: string, from: number): { readonly paths: readonly string[]; readonly end: number } {
  const paths: string[] = [];
  for (let end = from; ; end = MORE.lastIndex) {
    MORE.lastIndex = end;
    const path = MORE.exec(text)?.groups?.["path"];
    if (path === undefined || paths.length === MAX_MORE) return { paths, end };
    paths.push(path);
  }
}

/** "Read a.txt and delete it": "it" is the last file mentioned. Listing and searching need no path. */
function findPaths({ rule, paths }: FileTaskMatch, found: readonly FoundTask[]): readonly string[] {
  if (isOverview(rule.tool)) return [""];
  const last = found.findLast(({ fileAccess }) => fileAccess?.path !== undefined)?.fileAccess?.path;
  return paths.length > 0 || last === undefined ? paths : [last];
}

/** "Write ask me first to a.txt": another skill has taken the words, so the content is unknown. */
function isTaken(content: string | undefined): boolean {
  return content !== undefined && !/^["'“「]/.test(content) && content.includes(";;;;");
}

/** Files are read and changed only on a clear request. */
function isMeant({ rule: { tool }, at, end, content = "" }: FileTaskMatch, text: string, words: string): boolean {
  if (isOverview(tool)) return !isOnlyMentioned(text, at);
  // "Create a.txt with hello if there is none": the condition is not content.
  if (text.slice(at, end).endsWith(content) && /\s(?:if|unless)\s|如果|除非/i.test(content)) return false;
  return isRequested(words, at) && (tool === "read_file" || isUnconditional(text, { at, end }));
}

/** Concerns the workspace, not one file. */
function isOverview(tool: string): boolean {
  return tool === "list_files" || tool === "search_files";
}

/** A name with an extension; after the word "file" any name. */
const PATH = String.raw`["'\x60“「]?(?:(?<=\bfile |文件 ?["'\x60“「]?)(?<path>[\w./\\-]{0,200}\w)|(?<path>[\w./\\-]{0,200}\w\.[a-z]\w{0,7}))["'\x60”」]?`;
const CONTENT = String.raw`(?<content>"[^"]*"|'[^']*'|“[^”]*”|「[^」]*」|[^\s"“「](?:[^"“「\n]{0,2000}?[^\s"“「])??)`;
const THE_FILE = String.raw`(?:the |a )?(?:new )?(?:text )?(?:file )?(?:named |called )?`;

interface FileRule {
  readonly tool: string;
  readonly about: (path: string) => BilingualText;
  readonly pattern: RegExp;
}

const aboutWriting = (path: string): BilingualText => ({ en: `write ${path}`, zh: `写入 ${path}` });
const aboutDeleting = (path: string): BilingualText => ({ en: `delete ${path}`, zh: `删除 ${path}` });
const aboutReading = (path: string): BilingualText => ({ en: `read ${path}`, zh: `读取 ${path}` });
const aboutSearching = (): BilingualText => ({ en: "search files", zh: "搜索文件" });
const aboutListing = (): BilingualText => ({ en: "list files", zh: "列出文件" });

const RULES: readonly FileRule[] = [
  rule(
    "write_file",
    aboutWriting,
    String.raw`\b(?:write|save|store|put)(?: down)? ${CONTENT} (?:to|into|in|as) ${THE_FILE}${PATH}`,
  ),
  rule(
    "write_file",
    aboutWriting,
    String.raw`\b(?:create|make|write|save) ${THE_FILE}${PATH} (?:with|containing|saying)(?: the)?(?: content| text)?:? ${CONTENT}(?=[.!]?\s{0,9}$| and )`,
  ),
  rule(
    "write_file",
    aboutWriting,
    String.raw`(?<![把将])(?:把|将)\s{0,4}${CONTENT}\s{0,4}(?:写入|写到|写进|保存到|保存为|存到|存入|存为|保存在)\s{0,4}(?:文件 ?)?${PATH}`,
  ),
  rule(
    "write_file",
    aboutWriting,
    String.raw`(?:创建|新建|写)(?:一个)?文件 ?${PATH}\s{0,4}[,，]?\s{0,4}内容(?:是|为)?\s{0,4}[:：]?\s{0,4}${CONTENT}(?=[。.!]?\s{0,9}$)`,
  ),
  rule("delete_file", aboutDeleting, String.raw`\b(?:delete|remove|erase) ${THE_FILE}${PATH}`),
  rule("delete_file", aboutDeleting, String.raw`(?:删除|删掉|移除)\s{0,4}(?:文件 ?)?${PATH}`),
  rule("read_file", aboutReading, String.raw`\b(?:read|show|open|print)(?: me)? ${THE_FILE}${PATH}`),
  rule("read_file", aboutReading, String.raw`(?:读取|读|打开|查看|显示)\s{0,4}(?:文件 ?)?${PATH}`),
  rule("delete_file", aboutDeleting, String.raw`\b(?:delete|remove|erase) it\b|(?:删除|删掉|移除)它`),
  rule("read_file", aboutReading, String.raw`\b(?:read|show|open|print)(?: me)? it\b|(?:读取|读|打开|查看|显示)它`),
  rule(
    "search_files",
    aboutSearching,
    String.raw`\b(?:search|grep|look through) (?:all )?(?:the |my )?(?:files|workspace) for ${CONTENT}(?=[.!?]?\s{0,9}$|[,;] | and )`,
  ),
  rule(
    "search_files",
    aboutSearching,
    String.raw`(?:在|从)(?:所有)?文件(?:中|里)(?:搜索|查找|找)\s{0,4}${CONTENT}(?=[。！？.!?]?\s{0,9}$|[，；,;])|搜索文件(?:中的|里的|[:：])?\s{0,4}${CONTENT}(?=[。！？.!?]?\s{0,9}$|[，；,;])`,
  ),
  rule(
    "list_files",
    aboutListing,
    String.raw`\blist (?:all )?(?:the |my )?files\b|\bwhat files\b|列出(?:所有)?文件|有哪些文件`,
  ),
];

const MORE = new RegExp(String.raw`(?:\s?[,，、]|,? and|\s?和)\s{0,2}${PATH}`, "iy");
const MAX_MORE = 7;

function rule(tool: string, about: FileRule["about"], source: string): FileRule {
  return { tool, about, pattern: new RegExp(source, "gi") };
}

/** Refers to the result of another task. */
const PRONOUN =
  /^(?:it|that|this|them|both|the (?:result|answer|sum|product|time|date|(?:to-?do )?list|table|chart)s?|(?:计算)?结果|答案|它|时间|日期|(?:这个?)?(?:清单|表格))$/i;
/** Describes a value to compute first. */
const DESCRIBED =
  /^(?:the )?(?:result|answer|value|sum|product) of (?<of>.+)$|^(?<time>(?:the )?(?:current )?(?:time|date)(?: now| today)?|(?:现在|当前|今天)的?(?:时间|日期))$|^(?<what>.+?)\s{0,4}的(?:计算)?(?:结果|答案|值)$/is;
/** Content the user would like composed, as opposed to literal text. */
const COMPOSED =
  /^(?:(?:an?|the|some|my|your|another|one|two|three)\s(?:[\w-]{1,20}\s){0,3}?(?:poem|haiku|song|lyrics|story|essay|article|report|summary|overview|review|letter|e-?mail|message|note|text|speech|list|table|chart|plan|outline|recipe|joke|script|program|code|function|translation|description|analysis|introduction|biography|post|paragraph|sentence|quote|fact|idea)s?\b|(?:something|anything|everything|what|how|why|who|about)\b|(?:一|这|那|几)?[首篇份封段张个些][^“”]{0,12}(?:诗|歌|故事|文章|作文|报告|总结|摘要|信|邮件|清单|表格|计划|代码|笑话)$|(?:总结|摘要|介绍)$)/i;

interface FoundFile {
  readonly at: number;
  readonly end: number;
  readonly path: string;
  readonly content: string | undefined;
}

function createTask({ tool, about }: FileRule, { at, end, path, content = "" }: FoundFile): FoundTask {
  const words = content.trim();
  const { of, time, what } = DESCRIBED.exec(words)?.groups ?? {};
  const sourceText =
    of ?? what ?? (time === undefined ? undefined : /[时间日期]/.test(time) ? "现在几点" : "current time");
  const isPronoun = tool === "write_file" && (sourceText !== undefined || PRONOUN.test(words));
  const text = words.replaceAll(/^["'“「]|["'”」]$/g, "");
  return {
    tool,
    at,
    end,
    about: about(path),
    fileAccess: { path: path === "" ? undefined : path, isChange: tool === "write_file" || tool === "delete_file" },
    ...(isPronoun ? { needsResults: true } : {}),
    ...(isPronoun && sourceText !== undefined ? { sourceText } : {}),
    ...(tool === "write_file" && !isPronoun && COMPOSED.test(words) ? { refusal: refuseComposing(path, words) } : {}),
    createInput: (_tool, results) => {
      if (tool === "list_files") return {};
      if (tool === "search_files") return { query: text };
      return tool === "write_file" ? { path, content: results.length > 0 ? results.join("\n") : text } : { path };
    },
    describeResult: (result) => describeFileResult(tool, path, result.trim()),
  };
}

function refuseComposing(path: string, words: string): BilingualText {
  const what = words.length > 60 ? `${words.slice(0, 60)}…` : words;
  return {
    en: `I did not write ${path}: I cannot compose “${what}”. Put the exact text in quotation marks.`,
    zh: `没有写入 ${path}：我不会创作“${what}”。请把要写的文字放在引号里。`,
  };
}

function describeFileResult(tool: string, path: string, result: string): BilingualText {
  if (tool === "write_file") return { en: `Wrote ${path}.`, zh: `已写入 ${path}。` };
  if (tool === "delete_file") return { en: `Deleted ${path}.`, zh: `已删除 ${path}。` };
  if (tool === "read_file") return { en: `Contents of ${path}:\n${result}\n`, zh: `${path} 的内容：\n${result}\n` };
  if (tool === "search_files") return { en: `Matches:\n${result}\n`, zh: `匹配结果：\n${result}\n` };
  return { en: `Files:\n${result}\n`, zh: `文件：\n${result}\n` };
}
