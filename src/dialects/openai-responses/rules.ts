/** Rules for streams of the `openai-responses` dialect: what the `openai` client does not accept. */
import type { RuleTable } from "../../protocol/index.ts";

const section = "Responses API";

export const OPENAI_RESPONSES_RULES = {
  "openai-responses-created-first": {
    level: "error",
    section,
    about: {
      en: "A response does not start with `response.created`; the client stops there",
      zh: "响应没有以 `response.created` 开始，客户端会在此终止",
    },
  },
  "openai-responses-id-changed": {
    level: "error",
    section,
    about: {
      en: "The ID of the response changes; the client stops there",
      zh: "响应的 ID 发生变化，客户端会在此终止",
    },
  },
  "openai-responses-after-end": {
    level: "error",
    section,
    about: { en: "An event follows the end of its response", zh: "响应结束之后仍有事件" },
  },
  "openai-responses-sequence": {
    level: "warning",
    section,
    about: {
      en: "`sequence_number` does not increase by 1; a client that resumes by it loses or repeats events",
      zh: "`sequence_number` 没有逐一递增，据此恢复的客户端会丢失或重复事件",
    },
  },
  "openai-responses-item-unknown": {
    level: "error",
    section,
    about: {
      en: "An event names an output item that was not added, or the wrong ID of one; the client stops there",
      zh: "事件引用了未添加的输出项，或其 ID 不符，客户端会在此终止",
    },
  },
  "openai-responses-item-repeated": {
    level: "error",
    section,
    about: {
      en: "An output item is added at a position, or with an ID, that another one has; the client stops there",
      zh: "新增输出项的位置或 ID 已被占用，客户端会在此终止",
    },
  },
  "openai-responses-item-open": {
    level: "error",
    section,
    about: {
      en: "A completed response lacks an output item that did not end; the client stops there",
      zh: "已完成的响应缺少尚未结束的输出项，客户端会在此终止",
    },
  },
  "openai-responses-type-unknown": {
    level: "warning",
    section,
    about: {
      en: "An event has a type that the client's stream helper does not know; the helper stops there",
      zh: "客户端的流式辅助函数不认识该事件类型，会在此终止",
    },
  },
  "openai-responses-reply-limit": {
    level: "error",
    section,
    about: { en: "The answer is too long to be kept for the reply", zh: "回答过长，无法完整保留为回复" },
  },
  "openai-responses-end-missing": {
    level: "warning",
    section,
    about: {
      en: "The stream ended before `response.completed`, `response.incomplete` or `response.failed`",
      zh: "流在 `response.completed`、`response.incomplete` 或 `response.failed` 之前结束",
    },
  },
} as const satisfies RuleTable;
