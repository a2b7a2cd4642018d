/** Words in exported conversations. */
import { defineWords } from "loom-agent/react";

export const EXPORT_WORDS = defineWords({
  en: {
    you: "You",
    answer: "Answer",
    untitled: "Conversation",
    exported: (time: string) => `Exported from Loom on ${time}`,
    files: "Files",
    tools: "Tools used",
    sources: "Sources",
    lines: (first: number, last: number) => (first === last ? `line ${first}` : `lines ${first}–${last}`),
    cancelled: "The run was stopped.",
    error: "The run failed.",
    running: "The run has not ended.",
    earlier: (count: number) => `${count} earlier messages are not included.`,
  },
  zh: {
    you: "你",
    answer: "回答",
    untitled: "对话",
    exported: (time: string) => `由 Loom 导出于 ${time}`,
    files: "文件",
    tools: "使用的工具",
    sources: "来源",
    lines: (first: number, last: number) => (first === last ? `第 ${first} 行` : `第 ${first}–${last} 行`),
    cancelled: "运行已停止。",
    error: "运行失败。",
    running: "运行尚未结束。",
    earlier: (count: number) => `未包含更早的 ${count} 条消息。`,
  },
});
