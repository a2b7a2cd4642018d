/**
 * The runs of a session, one below the other, in a list of which only the visible part exists. Who reads the end stays at
 * the end while it grows; who has scrolled up stays where they are.
 *
 * Invariant: a token renders one message. The list is rendered anew when a run comes or goes, or other rows are seen.
 */
import { type ReactNode, type Ref, useImperativeHandle, useLayoutEffect, useMemo, useRef } from "react";
import type { Receiver, SessionView } from "../../client/index.ts";
import { useSession } from "../use-receiver.ts";
import { IconButton } from "../ui/button.tsx";
import { type KeptStates, KeptStatesProvider } from "../ui/kept-state.tsx";
import type { ElementPlace } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { holdInPlace } from "./hold-in-place.ts";
import { findFocusedTurn, keepFocusedRow } from "./keep-focused-row.ts";
import { RunItem } from "./run-item.tsx";
import { showElement } from "./show-element.ts";
import { stayAtEnd } from "./stay-at-end.ts";
import { useVirtualizer } from "./use-virtualizer.ts";

const WORDS = defineWords({
  en: {
    conversation: "Conversation",
    toEnd: "To the latest",
    earlier: (count: number) => `${count} earlier messages are not shown`,
  },
  zh: {
    conversation: "对话",
    toEnd: "回到最新",
    earlier: (count: number) => `更早的 ${count} 条消息未显示`,
  },
});

export interface ConversationProps {
  readonly receiver: Receiver;
  readonly sessionId: string;
  /** What is shown while there is nothing yet. */
  readonly children?: ReactNode;
  /** What readers opened and wrote in it, where it is to outlive this component. */
  readonly kept?: KeptStates | undefined;
  readonly ref?: Ref<ConversationHandle>;
}

export interface ConversationHandle {
  /** Brings it into sight. */
  show(place: ElementPlace): void;
  toEnd(): void;
}

const ESTIMATED_HEIGHT = 160;
/** Nearer to the end than this is at the end. */
const END_PX = 80;

/** Of another session neither the place nor the heights are kept. */
export function Conversation(props: ConversationProps): ReactNode {
  return (
    <KeptStatesProvider key={props.sessionId} states={props.kept}>
      <SessionConversation {...props} />
    </KeptStatesProvider>
  );
}

function SessionConversation({ receiver, sessionId, children, ref }: ConversationProps): ReactNode {
  const words = useWords(WORDS);
  const scroller = useRef<HTMLDivElement>(null);
  const select = useMemo(() => createKeySelector(), []);
  const { keys, earlier } = useSession(receiver, sessionId, select);
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
  // What one opens, one wants to read on from its end.
  useLayoutEffect(() => {
    if (isEmpty || scroller.current === null) return undefined;
    virtualizer.scrollToEnd();
    return stayAtEnd(scroller.current, END_PX, () => virtualizer.scrollToEnd());
  }, [isEmpty, virtualizer]);
  useImperativeHandle(
    ref,
    () => ({
      show(place) {
        const index = keys.lastIndexOf(place.turn);
        if (index === -1 || scroller.current === null) return;
        virtualizer.scrollToIndex(index, { align: "start" });
        showElement(scroller.current, place);
      },
      toEnd: () => virtualizer.scrollToEnd(),
    }),
    [keys, virtualizer],
  );
  if (isEmpty) return <div className="loom-conversation loom-conversation-empty">{children}</div>;
  const rows = virtualizer.getVirtualItems();
  return (
    <div className="loom-conversation">
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
              <RunItem
                receiver={receiver}
                sessionId={sessionId}
                turnKey={keys[index] ?? ""}
                position={index + 1}
                count={keys.length}
              />
            </div>
          ))}
        </div>
      </div>
      {!virtualizer.isAtEnd() ? (
        <div className="loom-conversation-end">
          <IconButton
            icon="down"
            label={words.toEnd}
            onClick={() => {
              virtualizer.scrollToEnd();
              // The button goes when the end is reached.
              scroller.current?.focus({ preventScroll: true });
            }}
          />
        </div>
      ) : null}
    </div>
  );
}

interface Keys {
  readonly keys: readonly string[];
  readonly earlier: number;
}

const NONE: Keys = { keys: [], earlier: 0 };

/** The same list while no run comes or goes: those at both ends and their number tell, whatever happens in between. */
function createKeySelector(): (session: SessionView | undefined) => Keys {
  let last = NONE;
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
