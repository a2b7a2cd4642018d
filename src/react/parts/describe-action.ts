/**
 * Describes what a tool call will do, in the words of the user. Only calls whose arguments are all shown have a
 * description: an argument that the description leaves out could change what the call does.
 */
import type { JsonObject } from "../../protocol/index.ts";
import type { IconName } from "../ui/icon.tsx";
import { defineWords } from "../ui/words.ts";
import type { ToolCall } from "../../client/index.ts";
import { cutText } from "../../protocol/cut-text.ts";
import { revealHidden } from "./reveal-hidden.ts";

export const ACTION_WORDS = defineWords({
  en: {
    writeFile: "Writes this file. An existing file is replaced.",
    changeFile: "Changes this file.",
    writeEmpty: "Writes an empty file. An existing file is replaced.",
    deleteFile: "Deletes this file. This can't be undone.",
    readFile: "Reads this file.",
    open: "Opens this address.",
    send: (method: string) => `Sends a ${method} request to this address.`,
    compute: "Computes this expression.",
    content: "Content",
    body: "Data",
  },
  zh: {
    writeFile: "写入此文件；若文件已存在，将被替换。",
    changeFile: "修改此文件。",
    writeEmpty: "写入一个空文件；若文件已存在，将被替换。",
    deleteFile: "删除此文件，且无法恢复。",
    readFile: "读取此文件。",
    open: "访问此网址。",
    send: (method: string) => `向此网址发送 ${method} 请求。`,
    compute: "计算此表达式。",
    content: "内容",
    body: "数据",
  },
});

type ActionWords = (typeof ACTION_WORDS)["en"];

export interface ActionDescription {
  /** One sentence: what will happen. Absent if the subject says it. */
  readonly sentence?: string;
  /** What the call acts on: a path, an address, an expression or a question. */
  readonly subject: string;
  readonly icon?: IconName;
  /** A text that will be written or sent. */
  readonly preview?: { readonly label: string; readonly text: string };
  /** The call asks the user a question, so it cannot be allowed for good. */
  readonly isQuestion?: boolean;
}

/** Returns undefined for a tool or arguments that are not known: all arguments are shown instead. */
export function describeAction(
  tool: string,
  given: JsonObject,
  words: ActionWords,
  /** A diff shows what changes. */
  hasDiff = false,
): ActionDescription | undefined {
  const find = Object.hasOwn(ACTIONS, tool) ? ACTIONS[tool] : undefined;
  if (find === undefined || Object.values(given).some((value) => typeof value !== "string")) return undefined;
  const texts = given as { readonly [name: string]: string };
  return Object.keys(given).every((name) => find.names.includes(name))
    ? find.describe(texts, words, hasDiff)
    : undefined;
}

interface KnownAction {
  /** The arguments that the description shows. */
  readonly names: readonly string[];
  describe(
    given: { readonly [name: string]: string },
    words: ActionWords,
    hasDiff: boolean,
  ): ActionDescription | undefined;
}

const SAFE_METHODS: readonly (string | undefined)[] = [undefined, "GET", "HEAD"];

const ACTIONS: { readonly [tool: string]: KnownAction } = {
  write_file: {
    names: ["path", "content"],
    describe({ path, content }, words, hasDiff) {
      if (path === undefined || content === undefined) return undefined;
      if (hasDiff) return { sentence: words.changeFile, subject: path, icon: "file" };
      if (content === "") return { sentence: words.writeEmpty, subject: path, icon: "file" };
      return {
        sentence: words.writeFile,
        subject: path,
        icon: "file",
        preview: { label: words.content, text: content },
      };
    },
  },
  delete_file: {
    names: ["path"],
    describe: ({ path }, words) =>
      path === undefined ? undefined : { sentence: words.deleteFile, subject: path, icon: "remove" },
  },
  read_file: {
    names: ["path"],
    describe: ({ path }, words) =>
      path === undefined ? undefined : { sentence: words.readFile, subject: path, icon: "file" },
  },
  http_fetch: {
    names: ["url", "method", "body", "content_type"],
    describe({ url, method, body, content_type: type }, words) {
      if (url === undefined) return undefined;
      const isSafe = SAFE_METHODS.includes(method) && body === undefined;
      const label = type === undefined ? words.body : `${words.body} (${type})`;
      return {
        sentence: isSafe ? words.open : words.send(method ?? "GET"),
        subject: url,
        icon: "link",
        ...(body === undefined && type === undefined ? {} : { preview: { label, text: body ?? "" } }),
      };
    },
  },
  calculator: {
    names: ["expression"],
    describe: ({ expression }, words) =>
      expression === undefined ? undefined : { sentence: words.compute, subject: expression },
  },
  ask_consent: {
    names: ["question"],
    describe: ({ question }) => (question === undefined ? undefined : { subject: question, isQuestion: true }),
  },
};

const MAX_LENGTH = 200;

type DescribedCall = Pick<ToolCall, "toolName" | "description" | "summary" | "server" | "status">;

/**
 * Says what a tool call does or has done, in words about the task. The name of the tool is for its details. Words of an
 * MCP server are in quotation marks, because the server can claim anything. Empty for a call without a name.
 */
export function describeCall({ toolName, description = "", summary, server, status }: DescribedCall): string {
  const said = (status === "success" ? summary : undefined) ?? description;
  const line = said.trim().replace(/[.。]$/u, "");
  if (line === "") return showName(toolName);
  const shown = revealHidden(cutText(line, MAX_LENGTH));
  return server === undefined ? shown : `“${shown}”`;
}

/** Whether a description shows an argument, so that the arguments need not be repeated beside it. */
export function namesArgument(described: string, given: ToolCall["arguments"]): boolean {
  return Object.values(given).some((value) => typeof value === "string" && value !== "" && described.includes(value));
}

/** Turns `get_weather` and `getWeather` into "Get weather". Other names stay as they are. */
function showName(name: string): string {
  const shown = revealHidden(cutText(name, MAX_LENGTH));
  if (!/^[a-z][a-zA-Z\d]*(?:[_-]+[a-zA-Z\d]+)*$/.test(shown)) return shown;
  const words = shown.replaceAll(/([a-z\d])([A-Z])/g, "$1 $2").replaceAll(/[_-]+/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}
