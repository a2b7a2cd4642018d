/**
 * React entry point: hooks over a `Receiver`, and the components for building a page. Needs React (an optional peer
 * dependency) and the stylesheet `loom-agent/react/style.css`.
 */
export { createTurnSelector, useMessage, useRun, useSession } from "./use-receiver.ts";
export { useStore } from "./use-receiver.ts";
export { AllowedTools } from "./chat/allowed-tools.tsx";
export { Composer } from "./chat/composer.tsx";
export { type Draft, type DraftFile, type FileActions, undoPaste } from "./chat/draft.ts";
export { LoomChat, type LoomChatProps } from "./chat/loom-chat.tsx";
export { createSessionActions } from "./chat/session-actions.ts";
export { SessionStatus } from "./chat/session-status.tsx";
export { WaitingList } from "./chat/waiting-list.tsx";
export { describeMessage, splitWaiting, type QueuedMessage } from "./chat/waiting-message.ts";
export { Conversation, type ConversationHandle } from "./conversation/conversation.tsx";
export { MessageItem } from "./conversation/message-item.tsx";
export type { PendingMessage } from "./conversation/pending-item.tsx";
export { RunFooter } from "./conversation/run-footer.tsx";
export { RunItem } from "./conversation/run-item.tsx";
export { useVirtualizer } from "./conversation/use-virtualizer.ts";
export { DataView } from "./data/data-view.tsx";
export { toVegaLite } from "./data/to-vega-lite.ts";
export { writeMarkdownTable } from "./data/write-markdown-table.ts";
export { ApprovalCard } from "./parts/approval-card.tsx";
export { ErrorBanner } from "./parts/error-banner.tsx";
export { ImageViewer } from "./parts/image-viewer.tsx";
export { PartItem } from "./parts/part-item.tsx";
export { ThinkingItem } from "./parts/thinking-item.tsx";
export { TodoCard } from "./parts/todo-card.tsx";
export { ToolCard } from "./parts/tool-card.tsx";
export { CitationProvider, listCitedSources } from "./text/citation.tsx";
export { closeMarkdown } from "./text/close-markdown.ts";
export { HighlightedText } from "./text/highlighted-text.tsx";
export { RichText } from "./text/rich-text.tsx";
export { findLiveRun, findRunPhase, isAway, type RunPhase } from "./thoughts/describe-stream.ts";
export { findStage } from "./thoughts/find-stage.ts";
export { StageLine } from "./thoughts/stage.tsx";
export { StreamStatus } from "./thoughts/stream-status.tsx";
export { ThoughtGraph } from "./thoughts/thought-graph.tsx";
export { ThoughtTree } from "./thoughts/thought-tree.tsx";
export { Button, IconButton } from "./ui/button.tsx";
export { CopyButton } from "./ui/copy-button.tsx";
export { Dialog } from "./ui/dialog.tsx";
export { Disclosure } from "./ui/disclosure.tsx";
export { formatBytes, formatDuration, formatNumber, formatTime } from "./ui/format.ts";
export { Icon, type IconName } from "./ui/icon.tsx";
export { UiStateCache, UiStateCacheProvider, useCachedState } from "./ui/ui-state-cache.tsx";
export { Menu, type MenuItem } from "./ui/menu.tsx";
export { Badge, ProgressBar, Spinner } from "./ui/indicators.tsx";
export {
  type ApprovalResponse,
  type ChartProps,
  type CodeProps,
  type DiagramProps,
  type ElementTarget,
  type FeedbackResponse,
  type MathProps,
  type RunVersions,
  type TodoChange,
  type TurnMenuProps,
  type UiActions,
  type UiPlugins,
  UiProvider,
  useUi,
  type UiLanguage,
} from "./ui/ui-context.tsx";
export { useHiddenSides } from "./ui/use-hidden-sides.ts";
export { chooseLanguage, defineWords, useWords } from "./ui/words.ts";
