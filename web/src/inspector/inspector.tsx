/**
 * The run inspector: when each thing happened, the frames it was made of, what it used, and the run as it stood at any of
 * its frames. One place in the run is looked at, by all of its sides at once. It records the run for itself and changes
 * nothing of the page.
 */
import { type ReactNode, type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Receiver, SessionView } from "loom-agent/client";
import type { DialectName } from "loom-agent/dialects";
import { createTurnSelector, type ElementPlace, IconButton, useSession, useWords } from "loom-agent/react";
import { downloadFile, makeFile, nameFile } from "./download-frames.ts";
import { findShownPlace } from "./find-shown-place.ts";
import { FramesView } from "./frames-view.tsx";
import type { InspectorApi } from "./inspector-api.ts";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import { ReadingNote } from "./reading-note.tsx";
import { ReplayView } from "./replay-view.tsx";
import { Scrubber } from "./scrubber.tsx";
import { StateView } from "./state-view.tsx";
import { Tabs } from "./tabs.tsx";
import { TimelineView } from "./timeline-view.tsx";
import { TokensView } from "./tokens-view.tsx";
import { usePlayback } from "./use-playback.ts";
import { useRecording } from "./use-recording.ts";
import { useReplay } from "./use-replay.ts";
import { WireView } from "./wire-view.tsx";

export interface InspectorProps {
  readonly session: string;
  /** Undefined where the stream names none: then there is nothing to ask for. */
  readonly runId: string | undefined;
  /** The run in the view of the page. */
  readonly turnKey: string;
  /** The same object from one rendering to the next. */
  readonly api: InspectorApi;
  /** What the page shows: asked whether the run goes on, and once for the lists that were there before it. */
  readonly receiver: Receiver;
  /** Something of the run whose first frame is wanted. Give another object to ask again for the same. */
  readonly focus?: ElementPlace | undefined;
  /** Scrolls the page to an element of the run. */
  readonly onShowElement: (place: ElementPlace) => void;
  readonly onClose: () => void;
}

export function Inspector({ runId, ...rest }: InspectorProps): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  if (runId !== undefined) return <RunInspector key={`${rest.session} ${runId}`} {...rest} runId={runId} />;
  return (
    <section className="page-inspector" aria-label={words.title}>
      <InspectorHead onClose={rest.onClose} />
      <p className="page-inspector-note">{words.noRun}</p>
    </section>
  );
}

const SIDES = ["timeline", "replay", "frames", "tokens", "state"] as const;
type Side = (typeof SIDES)[number];

function RunInspector(props: InspectorProps & { readonly runId: string }): ReactNode {
  const { session, runId, turnKey, api, receiver, focus, onShowElement, onClose } = props;
  const words = useWords(INSPECTOR_WORDS);
  const isLive = useSession(
    receiver,
    session,
    useMemo(() => createLiveTest(turnKey), [turnKey]),
  );
  const { recording, view, retry } = useRecording({ session, runId, api, isLive }, turnKey, receiver);
  const { count, turn, usageCount } = view;
  const [side, setSide] = useState<Side>("timeline");
  const [dialect, setDialect] = useState<DialectName>("loom");
  // Whoever is sent to a frame sees it, whatever was filtered before.
  const [visit, setVisit] = useState(0);
  // Undefined is the latest frame, also when another comes.
  const [chosen, setChosen] = useState<number>();
  const position = Math.min(chosen ?? count, count);
  const move = useCallback(
    (target: number): void => setChosen(target >= recording.count ? undefined : Math.max(0, target)),
    [recording],
  );
  const playback = usePlayback({ recording, position, isGrowing: view.status === "reading", onMove: move });
  const { stop } = playback;
  const select = (frame: number): void => {
    stop();
    setChosen(frame + 1);
  };
  const goTo = useCallback(
    (place: ElementPlace): boolean => {
      const frame = recording.index.findFrame(place);
      if (frame === undefined) return false;
      stop();
      setChosen(frame + 1);
      setDialect("loom");
      setVisit((count) => count + 1);
      setSide("frames");
      return true;
    },
    [recording],
  );
  const root = useRef<HTMLElement>(null);
  useFocus(focus, count, goTo, root);
  const replay = useReplay(recording, side === "replay" || side === "state" ? position : undefined);
  const frame = position - 1;

  return (
    <section className="page-inspector" aria-label={words.title} ref={root} tabIndex={-1}>
      <InspectorHead onClose={onClose}>
        <ReadingNote view={view} retry={retry} isLive={isLive} />
        <IconButton
          icon="download"
          label={words.download("loom")}
          disabled={count === 0}
          onClick={() =>
            downloadFile(
              makeFile((index) => recording.frameAt(index)?.text, recording.count),
              nameFile(session, runId, "loom"),
            )
          }
        />
      </InspectorHead>
      <Scrubber recording={recording} count={count} position={position} onMove={move} playback={playback} />
      <Tabs<Side>
        label={words.sides}
        tabs={SIDES.map((name) => ({ name, title: words[name] }))}
        shown={side}
        onShow={setSide}
      >
        {side === "timeline" ? (
          <TimelineView recording={recording} view={view} turnKey={turnKey} frame={frame} onSelect={select} />
        ) : null}
        {side === "frames" && dialect === "loom" ? (
          <FramesView
            key={visit}
            book={recording}
            count={count}
            dialect={dialect}
            onDialect={setDialect}
            frame={frame}
            isGrowing={view.status === "reading"}
            onSelect={select}
            onShowElement={(place) => onShowElement(findShownPlace(turn, place))}
          />
        ) : null}
        {side === "frames" && dialect !== "loom" ? (
          <WireView asked={{ session, runId, api, isLive }} dialect={dialect} onDialect={setDialect} />
        ) : null}
        {side === "tokens" ? (
          <TokensView
            recording={recording}
            count={count}
            turn={turn}
            usageCount={usageCount}
            frame={frame}
            onSelect={select}
          />
        ) : null}
        {side === "state" && replay !== undefined ? (
          <StateView recording={recording} turn={turn} receiver={replay} frame={frame} onSelect={select} />
        ) : null}
        {side === "replay" && replay !== undefined ? (
          <ReplayView
            recording={recording}
            receiver={replay}
            place={recording.frameAt(frame)?.place}
            time={recording.frameAt(frame)?.record?.envelope.ts}
            onInspect={goTo}
          />
        ) : null}
      </Tabs>
    </section>
  );
}

function createLiveTest(turnKey: string): (session: SessionView | undefined) => boolean {
  const findTurn = createTurnSelector(turnKey);
  return (session) => findTurn(session)?.status === "running";
}

/** What the page asks for is looked at as soon as its frame is there, and then no more. */
function useFocus(
  focus: ElementPlace | undefined,
  count: number,
  goTo: (place: ElementPlace) => boolean,
  root: RefObject<HTMLElement | null>,
): void {
  const [pending, setPending] = useState(focus);
  const [asked, setAsked] = useState(focus);
  if (focus !== asked) {
    setAsked(focus);
    setPending(focus);
  }
  useEffect(() => {
    // The run itself is what is shown anyway.
    if (pending === undefined || !(pending.kind === "turn" || goTo(pending))) return;
    setPending(undefined);
    // Whoever asked for it by keyboard goes on from here.
    root.current?.focus({ preventScroll: true });
  }, [pending, count, goTo, root]);
}

function InspectorHead({
  onClose,
  children,
}: {
  readonly onClose: () => void;
  readonly children?: ReactNode;
}): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  return (
    <header className="page-inspector-head">
      <h2>{words.title}</h2>
      {children}
      <IconButton icon="close" label={words.close} onClick={onClose} />
    </header>
  );
}
