/**
 * React hooks on the receiver, and the components a page of one's own is made of. React is an optional peer: nothing else
 * of this package imports it. The components are styled by `loom-agent/react/style.css`.
 */
export { useMessage, useReceiver, useRun, useSession } from "./use-receiver.ts";
export { useStore } from "./use-store.ts";
export { Conversation, type ConversationProps } from "./conversation/conversation.tsx";
export { MessageItem, type MessageItemProps } from "./conversation/message-item.tsx";
export { RunItem, type RunItemProps } from "./conversation/run-item.tsx";
export { useVirtualizer, type VirtualizerSettings } from "./conversation/use-virtualizer.ts";
export { DataView, type DataViewProps } from "./data/data-view.tsx";
export { PartItem, type PartItemProps } from "./parts/part-item.tsx";
export { RichText, type RichTextProps } from "./text/rich-text.tsx";
export { findStage, type Stage, StageLine } from "./thoughts/stage.tsx";
export { StreamStatus, type StreamStatusProps } from "./thoughts/stream-status.tsx";
export { ThoughtGraph, type ThoughtGraphProps } from "./thoughts/thought-graph.tsx";
export { ThoughtTree, type ThoughtTreeProps } from "./thoughts/thought-tree.tsx";
export { Button, type ButtonProps, IconButton, type IconButtonProps } from "./ui/button.tsx";
export { CopyButton } from "./ui/copy-button.tsx";
export { Dialog, type DialogProps } from "./ui/dialog.tsx";
export { Disclosure, type DisclosureProps } from "./ui/disclosure.tsx";
export { formatBytes, formatDuration, formatNumber, formatTime } from "./ui/format.ts";
export { Icon, type IconName } from "./ui/icon.tsx";
export { Badge, ProgressBar, type ProgressBarProps, Spinner, type Tone } from "./ui/indicators.tsx";
export {
  type ApprovalAnswer,
  type ChartProps,
  type CodeProps,
  type ElementPlace,
  type MathProps,
  type TodoChange,
  type Ui,
  type UiActions,
  type UiPlugins,
  UiProvider,
  useUi,
} from "./ui/ui-context.tsx";
export { chooseLanguage, defineWords, type Language, useWords, type Words } from "./ui/words.ts";
