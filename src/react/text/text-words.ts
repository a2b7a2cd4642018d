/** UI strings of text rendering. */
import { defineWords } from "../ui/words.ts";

export const TEXT_WORDS = defineWords({
  en: {
    code: "Code",
    codeIn: (language: string) => `Code, ${language}`,
    copyCode: "Copy code",
    table: "Table",
    done: "Done",
    notDone: "Not done",
    imageNotShown: "image not shown",
    imageFailed: "image failed to load",
    noColours: "Syntax highlighting failed to load. Reload the page to retry.",
    noFormula: "Formula couldn't be rendered. Reload the page to retry.",
    footnote: (label: string) => `Footnote ${label}`,
    toText: "Back to the text",
    cut: "Content truncated: too long to show.",
  },
  zh: {
    code: "代码",
    codeIn: (language: string) => `代码（${language}）`,
    copyCode: "复制代码",
    table: "表格",
    done: "已完成",
    notDone: "未完成",
    imageNotShown: "图片未显示",
    imageFailed: "图片加载失败",
    noColours: "语法高亮加载失败，请刷新页面。",
    noFormula: "公式渲染失败，请刷新页面。",
    footnote: (label: string) => `脚注 ${label}`,
    toText: "返回正文",
    cut: "内容过长，已截断。",
  },
});
