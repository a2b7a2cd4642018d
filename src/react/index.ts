/**
 * React entry point: hooks over a `Receiver`, and the components for building a page. Needs React (an optional peer
 * dependency) and the stylesheet `loom-agent/react/style.css`.
 */
export { createTurnSelector, useMessage, useReceiver, useRun, useSession } from "./use-receiver.ts";
export { useStore } from "./use-store.ts";
export { Conversation, type ConversationHandle, type ConversationProps } from "./conversation/conversation.tsx";
export { MessageItem, type MessageItemProps } from "./conversation/message-item.tsx";
export { RunFooter, type RunFooterProps } from "./conversation/run-footer.tsx";
export { RunItem, type RunItemProps } from "./conversation/run-item.tsx";
export { UserMessage } from "./conversation/user-message.tsx";
export { useVirtualizer, type VirtualizerSettings } from "./conversation/use-virtualizer.ts";
export { ChartView, type ChartViewProps } from "./data/chart-view.tsx";
export { DataTable, type DataTableProps } from "./data/data-table.tsx";
export { DataView, type DataViewProps } from "./data/data-view.tsx";
export { toVegaLite } from "./data/to-vega-lite.ts";
export { ApprovalCard, type ApprovalCardProps } from "./parts/approval-card.tsx";
export { AttachmentList, type AttachmentListProps } from "./parts/attachment-list.tsx";
export { ErrorBanner, type ErrorBannerProps } from "./parts/error-banner.tsx";
export { ImageItem, type ImageItemProps } from "./parts/image-item.tsx";
export { JsonView, type JsonViewProps } from "./parts/json-view.tsx";
export { LogBox, type LogBoxProps } from "./parts/log-box.tsx";
export { PartItem, type PartItemProps } from "./parts/part-item.tsx";
export { ReferencesItem, type ReferencesItemProps } from "./parts/references-item.tsx";
export { ThinkingItem, type ThinkingItemProps } from "./parts/thinking-item.tsx";
export { TodoCard, type TodoCardProps } from "./parts/todo-card.tsx";
export { ToolCard, type ToolCardProps } from "./parts/tool-card.tsx";
export { CodeBlock, type CodeBlockProps } from "./text/code-block.tsx";
export { RichText, type RichTextProps } from "./text/rich-text.tsx";
export { findStage, type Stage } from "./thoughts/find-stage.ts";
export { StageLine } from "./thoughts/stage.tsx";
export { StreamStatus, type StreamStatusProps } from "./thoughts/stream-status.tsx";
export { ThoughtGraph, type ThoughtGraphProps } from "./thoughts/thought-graph.tsx";
export { ThoughtTree, type ThoughtTreeProps } from "./thoughts/thought-tree.tsx";
export { Button, type ButtonProps, IconButton, type IconButtonProps } from "./ui/button.tsx";
export { CopyButton } from "./ui/copy-button.tsx";
export { Dialog, type DialogProps } from "./ui/dialog.tsx";
export { Disclosure, type DisclosureProps } from "./ui/disclosure.tsx";
export { formatBytes, formatDuration, formatNumber, formatTime } from "./ui/format.ts";
export { Icon, type IconName } from "./ui/icon.tsx";
export {
  UiStateCache,
  UiStateCacheProvider,
  type UiStateCacheProviderProps,
  useCachedState,
} from "./ui/ui-state-cache.tsx";
export { Badge, ProgressBar, type ProgressBarProps, Spinner, type BadgeTone } from "./ui/indicators.tsx";
export {
  type ApprovalResponse,
  type ChartProps,
  type CodeProps,
  type ElementTarget,
  type MathProps,
  type TodoChange,
  type Ui,
  type UiActions,
  type UiPlugins,
  UiProvider,
  useUi,
  type UiLanguage,
} from "./ui/ui-context.tsx";
export { chooseLanguage, defineWords, useWords, type Words } from "./ui/words.ts";
