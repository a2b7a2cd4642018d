/** Status badge of a tool call: icon, text and colour, each sufficient alone. */
import type { ReactNode } from "react";
import type { ToolCall } from "../../client/index.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Badge, type BadgeTone, Spinner } from "../ui/indicators.tsx";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({
  en: {
    streaming: "Writing arguments",
    ready: "Ready",
    awaiting_approval: "Waiting for approval",
    awaiting_client: "Waiting for the client",
    running: "Running",
    success: "Done",
    failed: "Failed",
    rejected: "Rejected",
    expired: "Expired",
    interrupted: "Interrupted",
  },
  zh: {
    streaming: "正在生成参数",
    ready: "已就绪",
    awaiting_approval: "等待审批",
    awaiting_client: "等待客户端",
    running: "执行中",
    success: "完成",
    failed: "失败",
    rejected: "已拒绝",
    expired: "已超时",
    interrupted: "已中断",
  },
});

const STATUS_BADGES: { readonly [S in ToolCall["status"]]: { readonly icon: IconName; readonly tone: BadgeTone } } = {
  streaming: { icon: "edit", tone: "busy" },
  ready: { icon: "tool", tone: "plain" },
  awaiting_approval: { icon: "ask", tone: "warn" },
  awaiting_client: { icon: "clock", tone: "busy" },
  running: { icon: "play", tone: "busy" },
  success: { icon: "check", tone: "good" },
  failed: { icon: "alert", tone: "bad" },
  rejected: { icon: "reject", tone: "bad" },
  interrupted: { icon: "stop", tone: "warn" },
};

export function ToolStatus({ call: { status, approval } }: { readonly call: ToolCall }): ReactNode {
  const words = useWords(WORDS);
  const { icon, tone } = STATUS_BADGES[status];
  const isExpired = status === "rejected" && approval?.decision === "expired";
  return (
    <Badge tone={tone}>
      {status === "running" ? <Spinner /> : <Icon name={icon} />}
      {isExpired ? words.expired : words[status]}
    </Badge>
  );
}
