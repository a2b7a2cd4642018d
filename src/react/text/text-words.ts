/** The words of this room. */
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
    imageFailed: "image could not be loaded",
    noColours: "Colours could not be loaded. Load the page again to have them.",
    noFormula: "What draws formulas could not be loaded. Load the page again to see them drawn.",
    cut: "The rest is not shown: there is too much of it.",
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
    noColours: "语法高亮加载失败，重新加载页面后可恢复。",
    noFormula: "公式组件加载失败，重新加载页面后即可正常显示公式。",
    cut: "内容过多，其余部分未显示。",
  },
});
