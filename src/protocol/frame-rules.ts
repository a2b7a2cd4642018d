/** Rules that apply to single frames of every dialect. */
import type { RuleTable } from "./rules.ts";

/** Rules for single frames, by name. */
export const FRAME_RULES = {
  "frame-too-long": {
    perFrame: true,
    level: "error",
    section: "001 §3",
    about: { en: "A line is longer than the limit", zh: "行的长度超过上限" },
  },
  "frame-utf8": {
    perFrame: true,
    level: "error",
    section: "001 §3",
    about: { en: "A line is not valid UTF-8", zh: "行不是有效的 UTF-8" },
  },
  "frame-unfinished": {
    perFrame: true,
    level: "error",
    section: "001 §3",
    about: { en: "The stream ended in the middle of a frame", zh: "流在帧的中间结束" },
  },
  "frame-json": {
    perFrame: true,
    level: "error",
    section: "001 §3",
    about: { en: "A frame is not valid JSON", zh: "帧不是有效的 JSON" },
  },
  "frame-object": {
    perFrame: true,
    level: "error",
    section: "001 §3",
    about: { en: "A frame is not a JSON object", zh: "帧不是 JSON 对象" },
  },
  "frame-kind": {
    perFrame: true,
    level: "error",
    section: "001 §4.1",
    about: { en: "The kind of a frame cannot be determined", zh: "无法判断帧的种类" },
  },
  "frame-surrogate": {
    perFrame: true,
    level: "warning",
    section: "001 §3",
    about: {
      en: "A text has half a character (an unpaired surrogate), which UTF-8 cannot represent",
      zh: "文本含有半个字符（不成对的代理项），UTF-8 无法表示",
    },
  },
  "field-missing": {
    perFrame: true,
    level: "error",
    section: "001 §4.2",
    about: { en: "A required field is missing", zh: "缺少必填字段" },
  },
  "field-type": {
    perFrame: true,
    level: "error",
    section: "001 §4.2",
    about: { en: "A field has the wrong type", zh: "字段类型错误" },
  },
  "field-value": {
    perFrame: true,
    level: "error",
    section: "001 §4.2",
    about: { en: "A field has a value that is not allowed", zh: "字段的值不被允许" },
  },
  "field-depth": {
    perFrame: true,
    level: "error",
    section: "001 §3",
    about: { en: "A value is nested too deeply", zh: "值的嵌套过深" },
  },
  "field-unlisted": {
    perFrame: true,
    level: "warning",
    section: "001 §4.2",
    about: { en: "A value is not among those listed in the specification", zh: "字段的值不在规范列出的范围内" },
  },
} as const satisfies RuleTable;
