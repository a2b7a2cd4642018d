/** Rules for streams of the `ag-ui` dialect: what the clients of AG-UI 1.0 and 0.0.59 refuse. */
import type { RuleTable } from "../../protocol/index.ts";

const section = "AG-UI 1.0";

export const AG_UI_RULES = {
  "ag-ui-type-unknown": {
    level: "warning",
    section,
    perFrame: true,
    about: {
      en: "An event has an unknown type: clients before 1.0 stop there, later ones drop it",
      zh: "事件类型未知：1.0 之前的客户端会在此终止，之后的客户端会丢弃它",
    },
  },
  "ag-ui-thinking": {
    level: "warning",
    section,
    perFrame: true,
    about: {
      en: "A `THINKING_*` event: version 1.0 has `REASONING_*` instead",
      zh: "使用了 `THINKING_*` 事件：1.0 版改为 `REASONING_*`",
    },
  },
  "ag-ui-null": {
    level: "error",
    section,
    perFrame: true,
    about: {
      en: "A field is null: clients accept a missing field, but not null",
      zh: "字段为 null：客户端接受缺失的字段，但不接受 null",
    },
  },
  "ag-ui-started-first": {
    level: "error",
    section,
    about: { en: "A stream does not start with `RUN_STARTED`", zh: "流没有以 `RUN_STARTED` 开始" },
  },
  "ag-ui-started-twice": {
    level: "error",
    section,
    about: { en: "`RUN_STARTED` while a run is active", zh: "运行尚未结束，又出现 `RUN_STARTED`" },
  },
  "ag-ui-after-end": {
    level: "error",
    section,
    about: {
      en: "An event follows `RUN_FINISHED` or `RUN_ERROR` without a `RUN_STARTED`",
      zh: "`RUN_FINISHED` 或 `RUN_ERROR` 之后没有 `RUN_STARTED` 就出现其他事件",
    },
  },
  "ag-ui-open-at-end": {
    level: "error",
    section,
    about: {
      en: "`RUN_FINISHED` while a message, reasoning, a call, a step or a subagent is open",
      zh: "`RUN_FINISHED` 时仍有未结束的消息、推理、调用、步骤或子智能体",
    },
  },
  "ag-ui-open-twice": {
    level: "error",
    section,
    about: {
      en: "A message, reasoning, a call, a step or a subagent starts while it is open",
      zh: "消息、推理、调用、步骤或子智能体尚未结束，又再次开始",
    },
  },
  "ag-ui-not-open": {
    level: "error",
    section,
    about: {
      en: "An event names a message, reasoning, a call, a step or a subagent that is not open",
      zh: "事件引用了未打开的消息、推理、调用、步骤或子智能体",
    },
  },
  "ag-ui-subagent-again": {
    level: "error",
    section,
    about: {
      en: "A subagent starts again after its end, or names an unknown parent",
      zh: "子智能体结束后再次开始，或其父级未知",
    },
  },
  "ag-ui-owner": {
    level: "error",
    section,
    about: {
      en: "An event names another subagent than the start of its message, reasoning or call",
      zh: "事件的子智能体与其消息、推理或调用开始时的不同",
    },
  },
  "ag-ui-chunk-first": {
    level: "error",
    section,
    about: {
      en: "The first chunk of a message or call lacks its ID, or the first chunk of a call its name",
      zh: "消息或调用的第一个片段缺少 ID，或调用的第一个片段缺少工具名",
    },
  },
  "ag-ui-interrupt-empty": {
    level: "error",
    section,
    perFrame: true,
    about: { en: "The outcome `interrupt` has no interrupts", zh: "结果 `interrupt` 没有任何中断" },
  },
  "ag-ui-delta-first": {
    level: "warning",
    section,
    about: {
      en: "The state or an activity changes before its snapshot: clients apply the change to what they have, or drop it",
      zh: "状态或活动在其快照之前发生修改：客户端会将修改应用到已有内容，或将其丢弃",
    },
  },
  "ag-ui-patch": {
    level: "error",
    section,
    about: {
      en: "A JSON Patch cannot be applied: clients drop it, and have another state than the server from then on",
      zh: "JSON Patch 无法应用：客户端会将其丢弃，此后状态与服务器不一致",
    },
  },
  "ag-ui-text-limit": {
    level: "error",
    section,
    about: {
      en: "An answer or the arguments of a call are too long to be kept",
      zh: "回答或调用参数过长，无法完整保留",
    },
  },
  "ag-ui-end-missing": {
    level: "warning",
    section,
    about: {
      en: "The stream ended before `RUN_FINISHED` or `RUN_ERROR`",
      zh: "流在 `RUN_FINISHED` 或 `RUN_ERROR` 之前结束",
    },
  },
} as const satisfies RuleTable;
