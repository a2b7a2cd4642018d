/** Rules for streams of the `stream-event` dialect (002). */
import type { RuleTable } from "../../protocol/index.ts";

export const STREAM_EVENT_RULES = {
  "request-start-first": {
    level: "warning",
    section: "002",
    about: { en: "The stream does not start with `request_start`", zh: "流没有以 `request_start` 开始" },
  },
  "request-start-early": {
    level: "error",
    section: "002",
    about: { en: "A request starts before the previous one finished", zh: "上一个请求尚未结束，新的请求就开始了" },
  },
  "after-agent-finish": {
    level: "error",
    section: "002",
    about: { en: "An event follows `agent_finish`", zh: "在 `agent_finish` 之后仍有事件" },
  },
  "source-changed": {
    level: "error",
    section: "002",
    about: { en: "The `source` changes within a request", zh: "同一请求中 `source` 发生变化" },
  },
  "request-id-changed": {
    level: "error",
    section: "002",
    about: { en: "The `request_id` changes within a request", zh: "同一请求中 `request_id` 发生变化" },
  },
  "ts-backwards": {
    level: "warning",
    section: "002",
    about: { en: "`ts` decreases", zh: "`ts` 变小" },
  },
  "agent-finish-missing": {
    level: "warning",
    section: "002",
    about: { en: "The stream ended before `agent_finish`", zh: "流在 `agent_finish` 之前结束" },
  },
} as const satisfies RuleTable;
