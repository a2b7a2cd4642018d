/** UI strings of forks at a checkpoint. */
import { defineWords } from "../../../src/react/page-parts.ts";

export const FORK_WORDS = defineWords({
  en: {
    open: (step: string): string => `Edit and fork from step ${step}`,
    title: "Fork from checkpoint",
    state: "State at the checkpoint (JSON)",
    submit: "Fork and run",
    cancel: "Cancel",
    json: (why: string): string => `Not valid JSON: ${why}`,
    object: (): string => "The state must be a JSON object.",
    removed: (name: string): string => `"${name}" can't be removed. Set its value instead.`,
    failed: (why: string): string => `Couldn't fork: ${why}`,
  },
  zh: {
    open: (step: string): string => `编辑并从第 ${step} 步分叉`,
    title: "从检查点分叉",
    state: "检查点的状态（JSON）",
    submit: "分叉并运行",
    cancel: "取消",
    json: (why: string): string => `JSON 无效：${why}`,
    object: (): string => "状态必须是 JSON 对象。",
    removed: (name: string): string => `不能删除“${name}”，请改为设置它的值。`,
    failed: (why: string): string => `分叉失败：${why}`,
  },
});
