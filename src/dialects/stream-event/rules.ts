/** What a stream of 002 can break beyond the rules every stream shares. */
import type { RuleTable } from "../../protocol/index.ts";

export const STREAM_EVENT_RULES = {
  "request-start-first": {
    level: "warning",
    section: "002",
    about: { en: "The stream does not begin with request_start", zh: "流未以 request_start 开始" },
  },
  "request-start-early": {
    level: "error",
    section: "002",
    about: { en: "A request begins before the last one finished", zh: "上一请求结束前开始了新请求" },
  },
  "after-agent-finish": {
    level: "error",
    section: "002",
    about: { en: "An event comes after agent_finish", zh: "agent_finish 之后仍有事件" },
  },
  "source-changed": {
    level: "error",
    section: "002",
    about: { en: "`source` changes within one request", zh: "同一请求内 source 改变" },
  },
  "request-id-changed": {
    level: "error",
    section: "002",
    about: { en: "`request_id` changes within one request", zh: "同一请求内 request_id 改变" },
  },
  "ts-backwards": {
    level: "warning",
    section: "002",
    about: { en: "`ts` goes backwards", zh: "ts 倒退" },
  },
  "agent-finish-missing": {
    level: "warning",
    section: "002",
    about: { en: "The stream stops before agent_finish", zh: "流在 agent_finish 之前停止" },
  },
} as const satisfies RuleTable;
