/** The rules one frame can break by itself, whatever the dialect. */
import type { RuleTable } from "./rules.ts";

export const FRAME_RULES = {
  "frame-too-long": {
    perFrame: true,
    level: "error",
    section: "001 §3",
    about: { en: "A line is longer than the limit", zh: "行超过长度上限" },
  },
  "frame-utf8": {
    perFrame: true,
    level: "error",
    section: "001 §3",
    about: { en: "A line is not UTF-8", zh: "行不是 UTF-8 编码" },
  },
  "frame-unfinished": {
    perFrame: true,
    level: "error",
    section: "001 §3",
    about: { en: "The stream was cut inside a frame", zh: "流在帧中间被截断" },
  },
  "frame-json": {
    perFrame: true,
    level: "error",
    section: "001 §3",
    about: { en: "A frame is not one JSON text", zh: "帧不是合法 JSON" },
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
    about: { en: "A frame has nothing that says what it is", zh: "帧缺少表明种类的字段" },
  },
  "field-missing": {
    perFrame: true,
    level: "error",
    section: "001 §4.2",
    about: { en: "A field that must be there is not", zh: "缺少必填字段" },
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
    about: { en: "A field is outside what is allowed", zh: "字段取值不允许" },
  },
  "field-depth": {
    perFrame: true,
    level: "error",
    section: "001 §3",
    about: { en: "A value nests too deeply", zh: "嵌套过深" },
  },
  "field-unlisted": {
    perFrame: true,
    level: "warning",
    section: "001 §4.2",
    about: { en: "A value is none of those the specification lists", zh: "取值不在规范所列之内" },
  },
} as const satisfies RuleTable;
