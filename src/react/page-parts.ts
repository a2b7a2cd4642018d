/**
 * The components as the chat page of this package (`web`) imports them: public names, and those that only this page needs.
 * This is not an entry point, so names that `index.ts` does not export can change without notice.
 */
export { AllowedTools } from "./chat/allowed-tools.tsx";
export { Composer } from "./chat/composer.tsx";
export { type Draft, type DraftFile, undoPaste } from "./chat/draft.ts";
export { createSessionActions } from "./chat/session-actions.ts";
export { SessionStatus } from "./chat/session-status.tsx";
export { WaitingList } from "./chat/waiting-list.tsx";
export { type QueuedMessage, splitWaiting } from "./chat/waiting-message.ts";
export { Conversation, type ConversationHandle } from "./conversation/conversation.tsx";
export { RunItem } from "./conversation/run-item.tsx";
export { useVirtualizer } from "./conversation/use-virtualizer.ts";
export { toVegaLite } from "./data/to-vega-lite.ts";
export { writeMarkdownTable } from "./data/write-markdown-table.ts";
export { ApprovalCard } from "./parts/approval-card.tsx";
export { ImageViewer } from "./parts/image-viewer.tsx";
export { CitationProvider, listCitedSources } from "./text/citation.tsx";
export { closeMarkdown } from "./text/close-markdown.ts";
export { HighlightedText } from "./text/highlighted-text.tsx";
export { RichText } from "./text/rich-text.tsx";
export { findLiveRun, isAway } from "./thoughts/describe-stream.ts";
export { findStage } from "./thoughts/find-stage.ts";
export { Button, IconButton } from "./ui/button.tsx";
export { CopyButton } from "./ui/copy-button.tsx";
export { Dialog } from "./ui/dialog.tsx";
export { Disclosure } from "./ui/disclosure.tsx";
export { formatBytes, formatDuration, formatNumber, formatTime } from "./ui/format.ts";
export { Icon, type IconName } from "./ui/icon.tsx";
export { Badge, ProgressBar, Spinner } from "./ui/indicators.tsx";
export { Menu, type MenuItem } from "./ui/menu.tsx";
export {
  type ApprovalResponse,
  type ChartProps,
  type ElementTarget,
  type FeedbackResponse,
  type RunVersions,
  type TodoChange,
  type TurnMenuProps,
  type UiActions,
  type UiLanguage,
  UiProvider,
  useUi,
} from "./ui/ui-context.tsx";
export { UiStateCache, UiStateCacheProvider, useCachedState } from "./ui/ui-state-cache.tsx";
export { useHiddenSides } from "./ui/use-hidden-sides.ts";
export { chooseLanguage, defineWords, useWords } from "./ui/words.ts";
export { createTurnSelector, useRun, useSession, useStore } from "./use-receiver.ts";
