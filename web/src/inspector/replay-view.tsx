/**
 * The run as it was at the frame one looks at, by the components that show it on the page. Nothing can be done to it but
 * to look for the frame of something. What the frame changed is marked and in sight.
 */
import { type ReactNode, useEffect, useMemo, useRef } from "react";
import type { Receiver } from "loom-agent/client";
import {
  type ElementPlace,
  KeptStatesProvider,
  RunItem,
  type UiActions,
  UiProvider,
  useRun,
  useUi,
  useWords,
} from "loom-agent/react";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import type { RunRecording } from "./run-recording.ts";

export interface ReplayViewProps {
  readonly recording: RunRecording;
  readonly receiver: Receiver;
  /** What the frame changed. */
  readonly place: ElementPlace | undefined;
  /** When it was sent, where frames tell times. */
  readonly time: number | undefined;
  /** Goes to the frame that made something. */
  readonly onInspect: (place: ElementPlace) => void;
}

export function ReplayView({ recording, receiver, place, time, onInspect }: ReplayViewProps): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  const ui = useUi();
  const scroller = useRef<HTMLDivElement>(null);
  const { session, runId } = recording;
  const hasBegun = useRun(receiver, session, runId) !== undefined;
  const actions = useMemo((): UiActions => ({ inspect: onInspect }), [onInspect]);
  useEffect(() => {
    let marked: Element | undefined;
    // What the receiver was fed a moment ago is there with the next frame of the screen.
    const request = requestAnimationFrame(() => {
      marked = place === undefined ? undefined : findShown(scroller.current, place);
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
        <KeptStatesProvider>
          <RunItem receiver={receiver} sessionId={session} turnKey={runId} position={1} count={1} />
        </KeptStatesProvider>
      </UiProvider>
    </div>
  );
}

function findShown(root: Element | null, { kind, key }: ElementPlace): Element | undefined {
  return root?.querySelector(kind === "turn" ? "[data-turn]" : `[data-${kind}="${CSS.escape(key)}"]`) ?? undefined;
}

/** The end of it comes into sight: what is new of something that grows is there. */
function reveal(scroller: Element, element: Element): void {
  const box = scroller.getBoundingClientRect();
  const { bottom } = element.getBoundingClientRect();
  if (bottom > box.bottom || bottom < box.top + MARGIN_PX) scroller.scrollTop += bottom - box.bottom + MARGIN_PX;
}

const MARGIN_PX = 24;
