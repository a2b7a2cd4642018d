/**
 * The runs of a session in a virtual list. A reader at the end stays at the end while the list grows; a reader who
 * scrolled up stays in position.
 *
 * Invariant: a token re-renders one message. The list re-renders only when runs are added or removed, or other rows
 * become visible.
 */
import { type ReactNode, type Ref, useCallback, useImperativeHandle, useLayoutEffect, useMemo, useRef } from "react";
import type { Receiver, SessionView } from "../../client/index.ts";
import { isAway as isStreamAway } from "../thoughts/describe-stream.ts";
import { useSession } from "../use-receiver.ts";
import { IconButton } from "../ui/button.tsx";
import { type UiStateCache, UiStateCacheProvider } from "../ui/ui-state-cache.tsx";
import type { ElementTarget } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { ConnectionNotice, selectRefusal } from "./connection-notice.tsx";
import { PendingItem, type PendingMessage } from "./pending-item.tsx";
import { RunItem } from "./run-item.tsx";
import {
  END_PX,
  findFocusedTurn,
  holdInPlace,
  keepFocusedRow,
  releaseBeginning,
  showElement,
  stayAtEnd,
} from "./scrolling.ts";
import { useLanding } from "./use-landing.ts";
import { useVirtualizer } from "./use-virtualizer.ts";

const WORDS = defineWords({
  en: {
    conversation: "Conversation",
    toEnd: "Jump to latest",
    earlier: (count: number) => `${count} earlier ${count === 1 ? "message" : "messages"} not shown`,
  },
  zh: {
    conversation: "对话",
    toEnd: "跳到最新",
    earlier: (count: number) => `更早的 ${count} 条消息未显示`,
  },
});

export interface ConversationProps {
  readonly receiver: Receiver;
  readonly sessionId: string;
  /** Messages that were sent and whose run has not started, shown at the end. Default: none. */
  readonly pending?: readonly PendingMessage[] | undefined;
  /** Shown while the session has no runs and no pending messages. */
  readonly children?: ReactNode;
  /** Keeps open panels and drafts after this component unmounts. Default: they are discarded. */
  readonly uiStateCache?: UiStateCache | undefined;
  /** Receives the handle for scrolling. */
  readonly ref?: Ref<ConversationHandle>;
}

/** Methods available through the `ref` of a `Conversation`. */
export interface ConversationHandle {
  /** Scrolls the element into view and highlights it. */
  show(target: ElementTarget): void;
  /** Scrolls to the latest message. */
  toEnd(): void;
}

const selectIsAway = (session: SessionView | undefined): boolean => isStreamAway(session?.state);

const NO_PENDING: readonly PendingMessage[] = [];
const NO_MESSAGE: PendingMessage = { runId: "", text: "", files: [] };
/** Number of latest runs among which the run of a pending message is. */
const RECENT_TURNS = 50;
const ESTIMATED_HEIGHT = 160;

/**
 * Shows the conversation of one session. Scroll position and row heights are reset when the session changes. It fills a
 * container that has a height, and otherwise has a default one. If the server refuses the page, it says why.
 *
 * ```tsx
 * <UiProvider language="en" actions={actions}>
 *   <Conversation receiver={receiver} sessionId={sessionId} />
 * </UiProvider>
 * ```
 */
export function Conversation(props: ConversationProps): ReactNode {
  return (
    <UiStateCacheProvider key={props.sessionId} cache={props.uiStateCache}>
      <SessionConversation {...props} />
    </UiStateCacheProvider>
  );
}

function SessionConversation({
  receiver,
  sessionId,
  pending = NO_PENDING,
  children,
  ref,
}: ConversationProps): ReactNode {
  const words = useWords(WORDS);
  const scroller = useRef<HTMLDivElement>(null);
  const select = useMemo(() => createKeySelector(), []);
  const { keys: turns, earlier } = useSession(receiver, sessionId, select);
  // The row of a pending message becomes the row of its run, because a run's key is its ID.
  const waiting = useMemo(() => {
    const recent = new Set(turns.slice(-RECENT_TURNS));
    return pending.filter(({ runId }) => !recent.has(runId));
  }, [turns, pending]);
  const keys = useMemo(() => [...turns, ...waiting.map(({ runId }) => runId)], [turns, waiting]);
  const virtualizer = useVirtualizer({
    count: keys.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ESTIMATED_HEIGHT,
    getItemKey: (index) => keys[index] ?? index,
    overscan: 2,
    rangeExtractor: (range) => {
      const focused = findFocusedTurn(scroller.current);
      return keepFocusedRow(range, focused === undefined ? -1 : keys.lastIndexOf(focused));
    },
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: END_PX,
  });
  const isEmpty = keys.length === 0;
  // A conversation opens at its end; see also `useLanding`.
  useLayoutEffect(() => {
    if (isEmpty || scroller.current === null) return undefined;
    virtualizer.scrollToEnd();
    return stayAtEnd(scroller.current, () => virtualizer.scrollToEnd());
  }, [isEmpty, virtualizer]);
  const scrollToEnd = useCallback(() => {
    releaseBeginning(scroller.current);
    virtualizer.scrollToEnd();
  }, [virtualizer]);
  const endLanding = useLanding(receiver, sessionId, scroller, scrollToEnd);
  const toEnd = useCallback(() => {
    endLanding();
    scrollToEnd();
  }, [endLanding, scrollToEnd]);
  useImperativeHandle(
    ref,
    () => ({
      show(target) {
        const index = keys.lastIndexOf(target.turn);
        if (index === -1 || scroller.current === null) return;
        endLanding();
        releaseBeginning(scroller.current);
        virtualizer.scrollToIndex(index, { align: "start" });
        showElement(scroller.current, target);
      },
      toEnd,
    }),
    [keys, toEnd, endLanding, virtualizer],
  );
  const reason = useSession(receiver, sessionId, selectRefusal);
  const isAway = useSession(receiver, sessionId, selectIsAway);
  const notice = <ConnectionNotice reason={reason} showsLoss={isEmpty && children === undefined} />;
  if (isEmpty)
    return (
      <div className="loom-conversation loom-conversation-empty">
        {notice}
        {children}
      </div>
    );
  const rows = virtualizer.getVirtualItems();
  return (
    <div className="loom-conversation">
      {notice}
      <div
        className="loom-conversation-scroller"
        ref={scroller}
        tabIndex={0}
        role="region"
        aria-label={words.conversation}
        onClickCapture={({ target, currentTarget }) => {
          const pressed = target instanceof Element ? target.closest("[aria-expanded]") : null;
          if (pressed !== null) holdInPlace(currentTarget, pressed);
        }}
      >
        {earlier > 0 ? <p className="loom-conversation-earlier">{words.earlier(earlier)}</p> : null}
        <div className="loom-conversation-rows" role="feed" style={{ height: virtualizer.getTotalSize() }}>
          {rows.map(({ key, index, start }) => (
            <div
              key={key}
              data-index={index}
              ref={virtualizer.measureElement}
              className="loom-conversation-row"
              style={{ transform: `translateY(${start}px)` }}
            >
              {index < turns.length ? (
                <RunItem
                  receiver={receiver}
                  sessionId={sessionId}
                  turnKey={keys[index] ?? ""}
                  position={index + 1}
                  count={keys.length}
                />
              ) : (
                <PendingItem
                  message={waiting[index - turns.length] ?? NO_MESSAGE}
                  position={index + 1}
                  count={keys.length}
                  isAway={isAway}
                />
              )}
            </div>
          ))}
        </div>
      </div>
      {!virtualizer.isAtEnd() ? (
        <div className="loom-conversation-end">
          <IconButton
            icon="latest"
            label={words.toEnd}
            onClick={() => {
              toEnd();
              // The button disappears at the end, so focus moves to the list.
              scroller.current?.focus({ preventScroll: true });
            }}
          />
        </div>
      ) : null}
    </div>
  );
}

interface TurnKeys {
  readonly keys: readonly string[];
  readonly earlier: number;
}

const NO_KEYS: TurnKeys = { keys: [], earlier: 0 };

/** Returns the same object until a run is added or removed. Compares only both ends and the length. */
function createKeySelector(): (session: SessionView | undefined) => TurnKeys {
  let last = NO_KEYS;
  return (session) => {
    const turns = session?.turns ?? [];
    const earlier = session?.earlierTurns ?? 0;
    const isSame =
      last.earlier === earlier &&
      last.keys.length === turns.length &&
      last.keys[0] === turns[0]?.key &&
      last.keys.at(-1) === turns.at(-1)?.key;
    if (!isSame) last = { keys: turns.map(({ key }) => key), earlier };
    return last;
  };
}
