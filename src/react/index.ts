/**
 * React entry point: hooks over a `Receiver`, and the components for building a page. Needs React (an optional peer
 * dependency) and the stylesheet `loom-agent/react/style.css`.
 */
export { useMessage, useRun, useSession } from "./use-receiver.ts";
export { AllowedTools } from "./chat/allowed-tools.tsx";
export { Composer } from "./chat/composer.tsx";
export { LoomChat, type LoomChatProps } from "./chat/loom-chat.tsx";
export { createSessionActions } from "./chat/session-actions.ts";
export { WaitingList } from "./chat/waiting-list.tsx";
export { Conversation, type ConversationHandle } from "./conversation/conversation.tsx";
export { MessageItem } from "./conversation/message-item.tsx";
export { RunFooter } from "./conversation/run-footer.tsx";
export { RunItem } from "./conversation/run-item.tsx";
export { DataView } from "./data/data-view.tsx";
export { ApprovalCard } from "./parts/approval-card.tsx";
export { ErrorBanner } from "./parts/error-banner.tsx";
export { PartItem } from "./parts/part-item.tsx";
export { ThinkingItem } from "./parts/thinking-item.tsx";
export { TodoCard } from "./parts/todo-card.tsx";
export { ToolCard } from "./parts/tool-card.tsx";
export { RichText } from "./text/rich-text.tsx";
export { findRunPhase } from "./thoughts/describe-stream.ts";
export { StageLine } from "./thoughts/stage.tsx";
export { StreamStatus } from "./thoughts/stream-status.tsx";
export { ThoughtGraph } from "./thoughts/thought-graph.tsx";
export { ThoughtTree } from "./thoughts/thought-tree.tsx";
export { Button } from "./ui/button.tsx";
export { Dialog } from "./ui/dialog.tsx";
export { Disclosure } from "./ui/disclosure.tsx";
export { Icon } from "./ui/icon.tsx";
export {
  type ChartProps,
  type CodeProps,
  type DiagramProps,
  type MathProps,
  type TurnMenuProps,
  type UiActions,
  type UiPlugins,
  UiProvider,
  type UiLanguage,
} from "./ui/ui-context.tsx";
export { chooseLanguage } from "./ui/words.ts";
