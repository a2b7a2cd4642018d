/**
 * The run at the current position, rendered with the components of the conversation. Its only action is to find the
 * frame of an element. The element that the frame changed is marked and scrolled into view.
 */
import { type ReactNode, useEffect, useMemo, useRef } from "react";
import type { Receiver } from "loom-agent/client";
import {
  type ElementTarget,
  RunItem,
  type UiActions,
  UiProvider,
  UiStateCacheProvider,
  useRun,
  useUi,
  useWords,
} from "../../../src/react/page-parts.ts";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import type { RunRecording } from "./run-recording.ts";

export interface ReplayViewProps {
  readonly recording: RunRecording;
  readonly receiver: Receiver;
  /** Element that the frame changed. */
  readonly target: ElementTarget | undefined;
  /** Timestamp of the frame, if it has one. */
  readonly time: number | undefined;
  /** Goes to the frame that created an element. */
  readonly onInspect: (target: ElementTarget) => void;
}

export function ReplayView({ recording, receiver, target, time, onInspect }: ReplayViewProps): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  const ui = useUi();
  const scroller = useRef<HTMLDivElement>(null);
  const { session, runId } = recording;
  const hasBegun = useRun(receiver, session, runId) !== undefined;
  const actions = useMemo((): UiActions => ({ inspect: onInspect }), [onInspect]);
  useEffect(() => {
    let marked: Element | undefined;
    // The receiver's update is rendered in the next animation frame.
    const request = requestAnimationFrame(() => {
      marked = target === undefined ? undefined : findShown(scroller.current, target);
      marked?.setAttribute("data-now", "");
      if (marked !== undefined && scroller.current !== null) reveal(scroller.current, marked);
    });
    return () => {
      cancelAnimationFrame(request);
      marked?.removeAttribute("data-now");
    };
  });
  return (
    <div
      ref={scroller}
      className="page-inspector-scroll page-inspector-replay"
      tabIndex={0}
      role="region"
      aria-label={words.replay}
    >
      {hasBegun ? null : <p className="page-inspector-note">{words.before}</p>}
      <UiProvider {...ui} actions={actions} isQuiet now={() => time ?? Date.now()}>
        <UiStateCacheProvider>
          <RunItem receiver={receiver} sessionId={session} turnKey={runId} position={1} count={1} />
        </UiStateCacheProvider>
      </UiProvider>
    </div>
  );
}

function findShown(root: Element | null, { kind, key }: ElementTarget): Element | undefined {
  return root?.querySelector(kind === "turn" ? "[data-turn]" : `[data-${kind}="${CSS.escape(key)}"]`) ?? undefined;
}

/** Scrolls to the end of the element, where growing content changes. */
function reveal(scroller: Element, element: Element): void {
  const box = scroller.getBoundingClientRect();
  const { bottom } = element.getBoundingClientRect();
  if (bottom > box.bottom || bottom < box.top + MARGIN_PX) scroller.scrollTop += bottom - box.bottom + MARGIN_PX;
}

const MARGIN_PX = 24;
