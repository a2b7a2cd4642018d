/** The skill of files: write, delete, read and list, for the tools of a workspace. */
import type { FoundErrand, Phrase, Skill } from "./errand.ts";

export const files: Skill = {
  abilities: [
    {
      tool: "write_file",
      can: { en: "write a text to a file", zh: "把文字写入文件" },
      example: { en: "Write hello to notes.txt", zh: "把“你好”写入 notes.txt" },
    },
    { tool: "delete_file", can: { en: "delete a file", zh: "删除文件" } },
    { tool: "read_file", can: { en: "read a file", zh: "读取文件" } },
    { tool: "list_files", can: { en: "list the files", zh: "列出文件" } },
  ],
  find(text) {
    const found: FoundErrand[] = [];
    for (const { tool, pattern, about } of RULES) {
      for (const match of text.matchAll(pattern)) {
        const at = match.index;
        const end = at + match[0].length;
        if (found.some((other) => at < other.end && other.at < end)) continue;
        const { path = tool === "list_files" ? "" : findPathBefore(found, at), content } = match.groups ?? {};
        if (path === undefined) continue;
        found.push(createErrand(tool, about, { at, end, path, content }));
      }
    }
    return found;
  },
};

/** A name with an ending; after the word "file" any name will do. */
const PATH = String.raw`["'\x60“「]?(?:(?<=\bfile |文件 ?["'\x60“「]?)(?<path>[\w./\\-]*\w)|(?<path>[\w./\\-]*\w\.[a-z]\w{0,7}))["'\x60”」]?`;
const CONTENT = String.raw`(?<content>"[^"]*"|'[^']*'|“[^”]*”|「[^」]*」|[^"“「\n]{1,2000}?)`;
const THE_FILE = String.raw`(?:the |a )?(?:new )?(?:text )?(?:file )?(?:named |called )?`;

interface Rule {
  readonly tool: string;
  readonly about: (path: string) => Phrase;
  readonly pattern: RegExp;
}

const aboutWriting = (path: string): Phrase => ({ en: `write ${path}`, zh: `写入 ${path}` });
const aboutDeleting = (path: string): Phrase => ({ en: `delete ${path}`, zh: `删除 ${path}` });
const aboutReading = (path: string): Phrase => ({ en: `read ${path}`, zh: `读取 ${path}` });
const aboutListing = (): Phrase => ({ en: "list the files", zh: "列出文件" });

const RULES: readonly Rule[] = [
  rule(
    "write_file",
    aboutWriting,
    String.raw`\b(?:write|save|store|put) ${CONTENT} (?:to|into|in|as) ${THE_FILE}${PATH}`,
  ),
  rule(
    "write_file",
    aboutWriting,
    String.raw`\b(?:create|make|write|save) ${THE_FILE}${PATH} (?:with|containing|saying)(?: the)?(?: content| text)?:? ${CONTENT}(?=[.!]?\s*$| and )`,
  ),
  rule(
    "write_file",
    aboutWriting,
    String.raw`(?:把|将)\s*${CONTENT}\s*(?:写入|写到|写进|保存到|保存为|存到|存入|存为|保存在)\s*(?:文件 ?)?${PATH}`,
  ),
  rule(
    "write_file",
    aboutWriting,
    String.raw`(?:创建|新建|写)(?:一个)?文件 ?${PATH}\s*[,，]?\s*内容(?:是|为)?\s*[:：]?\s*${CONTENT}(?=[。.!]?\s*$)`,
  ),
  rule("delete_file", aboutDeleting, String.raw`\b(?:delete|remove|erase) ${THE_FILE}${PATH}`),
  rule("delete_file", aboutDeleting, String.raw`(?:删除|删掉|移除)\s*(?:文件 ?)?${PATH}`),
  rule("read_file", aboutReading, String.raw`\b(?:read|show|open|print)(?: me)? ${THE_FILE}${PATH}`),
  rule("read_file", aboutReading, String.raw`(?:读取|读|打开|查看|显示)\s*(?:文件 ?)?${PATH}`),
  rule("delete_file", aboutDeleting, String.raw`\b(?:delete|remove|erase) it\b|(?:删除|删掉|移除)它`),
  rule("read_file", aboutReading, String.raw`\b(?:read|show|open|print)(?: me)? it\b|(?:读取|读|打开|查看|显示)它`),
  rule(
    "list_files",
    aboutListing,
    String.raw`\blist (?:all )?(?:the |my )?files\b|\bwhat files\b|列出(?:所有)?文件|有哪些文件`,
  ),
];

/** "Read a.txt and delete it": the file that was spoken of last. */
function findPathBefore(found: readonly FoundErrand[], at: number): string | undefined {
  const before = found.filter((other) => other.at < at && other.touches?.path !== undefined);
  return before.sort((a, b) => a.at - b.at).at(-1)?.touches?.path;
}

function rule(tool: string, about: Rule["about"], source: string): Rule {
  return { tool, about, pattern: new RegExp(source, "gi") };
}

/** What another errand is to give. */
const PRONOUN =
  /^(?:it|that|this|them|both|the (?:result|answer|sum|product|time|date)s?|(?:计算)?结果|答案|它|时间|日期)$/i;
/** What is to be found out, by words of its own. */
const DESCRIBED =
  /^(?:the )?(?:result|answer|value|sum|product) of (?<of>.+)$|^(?<time>(?:the )?(?:current )?(?:time|date)(?: now| today)?|(?:现在|当前|今天)的?(?:时间|日期))$|^(?<what>.+?)\s*的(?:计算)?(?:结果|答案|值)$/is;

interface Found {
  readonly at: number;
  readonly end: number;
  readonly path: string;
  readonly content: string | undefined;
}

function createErrand(tool: string, about: Rule["about"], { at, end, path, content = "" }: Found): FoundErrand {
  const { of, time, what } = DESCRIBED.exec(content.trim())?.groups ?? {};
  const madeOf = of ?? what ?? (time === undefined ? undefined : /[时间日期]/.test(time) ? "现在几点" : "current time");
  const isPronoun = madeOf !== undefined || PRONOUN.test(content.trim());
  const text = content.trim().replaceAll(/^["'“「]|["'”」]$/g, "");
  return {
    tool,
    at,
    end,
    about: about(path),
    touches: { path: path === "" ? undefined : path, isChange: tool === "write_file" || tool === "delete_file" },
    ...(isPronoun ? { needsResults: true } : {}),
    ...(madeOf === undefined ? {} : { madeOf }),
    createInput: (_tool, results) => {
      if (tool === "list_files") return {};
      return tool === "write_file" ? { path, content: results.length > 0 ? results.join("\n") : text } : { path };
    },
    tell: (result) => tellOf(tool, path, result.trim()),
  };
}

function tellOf(tool: string, path: string, result: string): Phrase {
  if (tool === "write_file") return { en: `I have written ${path}.`, zh: `已写入 ${path}。` };
  if (tool === "delete_file") return { en: `I have deleted ${path}.`, zh: `已删除 ${path}。` };
  if (tool === "read_file") return { en: `${path} says:\n${result}\n`, zh: `${path} 的内容：\n${result}\n` };
  return { en: `The files:\n${result}\n`, zh: `文件：\n${result}\n` };
}
