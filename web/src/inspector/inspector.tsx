/**
 * The run inspector: timeline, replay, frames, model calls and graph state of one run. All tabs share one position in the
 * run. It makes its own recording of the run and does not change the page.
 */
import { type ReactNode, type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Receiver, SessionView } from "loom-agent/client";
import type { DialectName } from "loom-agent/dialects";
import {
  createTurnSelector,
  type ElementTarget,
  Icon,
  IconButton,
  useSession,
  useWords,
} from "../../../src/react/page-parts.ts";
import { CallsView } from "./calls-view.tsx";
import { buildFile, downloadFile, formatFileName } from "./download-frames.ts";
import { findShownTarget } from "./run-index.ts";
import type { ForkAt } from "./fork-editor.tsx";
import { formatCurl } from "./format.ts";
import { FramesView } from "./frames-view.tsx";
import type { InspectorApi } from "./inspector-api.ts";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import type { ModelPrices } from "./prices.ts";
import { ReadingNote } from "./reading-note.tsx";
import { ReplayView } from "./replay-view.tsx";
import type { RecordingState, RunRecording } from "./run-recording.ts";
import { Scrubber } from "./scrubber.tsx";
import { StateView } from "./state-view.tsx";
import { Tabs } from "./tabs.tsx";
import { TimelineView } from "./timeline-view.tsx";
import { usePlayback } from "./playback.ts";
import { useRecording } from "./use-recording.ts";
import { useReplay } from "./replay.ts";
import { WireView } from "./wire-view.tsx";
import "./inspector.css";

export interface InspectorProps {
  readonly session: string;
  /** Undefined: the stream has no run ID, and the frames cannot be requested. */
  readonly runId: string | undefined;
  /** Key of the turn in the page's view. */
  readonly turnKey: string;
  /** Must keep its identity between renders. */
  readonly api: InspectorApi;
  /** The page's receiver. It tells whether the run is live, and which to-do lists existed before it. */
  readonly receiver: Receiver;
  /** Element whose first frame is shown. A new object repeats the request. */
  readonly focus?: ElementTarget | undefined;
  /** Scrolls the conversation to an element of the run. */
  readonly onShowElement: (target: ElementTarget) => void;
  readonly onClose: () => void;
  /** Shows the replay first instead of the timeline. */
  readonly isReplay?: boolean | undefined;
  /** Record whose frame is shown first. */
  readonly eventId?: number | undefined;
  /** Returns a link to a record of the run. */
  readonly formatLink: (eventId: number) => string;
  /** Undefined: the user may not fork. */
  readonly onFork: ForkAt | undefined;
  readonly prices: ModelPrices;
  readonly onPrices: (prices: ModelPrices) => void;
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

const TABS = ["timeline", "replay", "frames", "calls", "state"] as const;
type InspectorTab = (typeof TABS)[number];

function RunInspector(props: InspectorProps & { readonly runId: string }): ReactNode {
  const { session, runId, turnKey, api, receiver, focus, onShowElement, onClose, prices, onPrices, onFork } = props;
  const { isReplay = false } = props;
  const words = useWords(INSPECTOR_WORDS);
  const isLive = useSession(
    receiver,
    session,
    useMemo(() => createLiveTest(turnKey), [turnKey]),
  );
  const { recording, view, retry } = useRecording({ session, runId, api, isLive }, turnKey, receiver);
  const { count, turn, usageCount } = view;
  const [tab, setTab] = useState<InspectorTab>(isReplay ? "replay" : "timeline");
  const [dialect, setDialect] = useState<DialectName>(recording.dialect);
  // Resets the filters of the frame list.
  const [visit, setVisit] = useState(0);
  // Undefined: follow the latest frame.
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
    (target: ElementTarget): boolean => {
      const frame = recording.index.findFrame(target);
      if (frame === undefined) return false;
      stop();
      setChosen(frame + 1);
      setDialect(recording.dialect);
      setVisit((count) => count + 1);
      setTab("frames");
      return true;
    },
    [recording],
  );
  const { eventId, formatLink } = props;
  useLinkedFrame(recording, eventId, view, (index) => {
    stop();
    setChosen(index + 1);
    setTab("frames");
  });
  const root = useRef<HTMLElement>(null);
  useFocus(focus, count, goTo, root);
  const replay = useReplay(recording, tab === "replay" || tab === "state" ? position : undefined);
  const frame = position - 1;

  return (
    <section className="page-inspector" aria-label={words.title} ref={root} tabIndex={-1}>
      <InspectorHead onClose={onClose}>
        <ReadingNote view={view} retry={retry} isLive={isLive} />
        <IconButton
          icon="download"
          label={words.download(recording.dialect)}
          disabled={count === 0}
          onClick={() =>
            downloadFile(
              buildFile((index) => recording.frameAt(index)?.text, recording.count),
              formatFileName(session, runId, recording.dialect),
            )
          }
        />
      </InspectorHead>
      <RunFeedback receiver={receiver} session={session} runId={runId} />
      <Scrubber recording={recording} count={count} position={position} onMove={move} playback={playback} />
      <Tabs<InspectorTab>
        label={words.tabs}
        tabs={TABS.map((name) => ({ name, title: words[name] }))}
        shown={tab}
        onShow={setTab}
      >
        {tab === "timeline" ? (
          <TimelineView
            recording={recording}
            view={view}
            turnKey={turnKey}
            frame={frame}
            onSelect={select}
            onShowCall={() => setTab("calls")}
          />
        ) : null}
        {tab === "frames" && dialect === recording.dialect ? (
          <FramesView
            key={visit}
            frames={recording}
            count={count}
            dialect={dialect}
            onDialect={setDialect}
            frame={frame}
            isGrowing={view.status === "reading"}
            onSelect={select}
            onShowElement={(target) => onShowElement(findShownTarget(turn, target))}
            linkOf={(index) => {
              const id = recording.frameAt(index)?.record?.envelope.event_id;
              return id === undefined ? undefined : formatLink(id);
            }}
            curl={() => formatCurl({ base: document.baseURI, session, runId, dialect })}
          />
        ) : null}
        {tab === "frames" && dialect !== recording.dialect ? (
          <WireView run={{ session, runId, api, isLive }} dialect={dialect} onDialect={setDialect} />
        ) : null}
        {tab === "calls" ? (
          <CallsView
            recording={recording}
            count={count}
            turn={turn}
            usageCount={usageCount}
            frame={frame}
            api={api}
            prices={prices}
            onPrices={onPrices}
            onSelect={select}
          />
        ) : null}
        {tab === "state" && replay !== undefined ? (
          <StateView
            recording={recording}
            turn={turn}
            receiver={replay}
            frame={frame}
            api={api}
            onSelect={select}
            onFork={onFork}
          />
        ) : null}
        {tab === "replay" && replay !== undefined ? (
          <ReplayView
            recording={recording}
            receiver={replay}
            target={recording.frameAt(frame)?.target}
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

/** Goes to the record of a link once its frame has arrived. A record without a frame is replaced by the next one. */
function useLinkedFrame(
  recording: RunRecording,
  eventId: number | undefined,
  { count, status }: RecordingState,
  show: (index: number) => void,
): void {
  const [done, setDone] = useState<number>();
  useEffect(() => {
    if (eventId === undefined || eventId === done || count === 0) return;
    const index = recording.findRecord(eventId) ?? (status === "reading" ? undefined : count - 1);
    if (index === undefined) return;
    setDone(eventId);
    show(index);
  });
}

/** Goes to the requested element once its frame has arrived. */
function useFocus(
  focus: ElementTarget | undefined,
  count: number,
  goTo: (target: ElementTarget) => boolean,
  root: RefObject<HTMLElement | null>,
): void {
  const [pending, setPending] = useState(focus);
  const [requested, setRequested] = useState(focus);
  if (focus !== requested) {
    setRequested(focus);
    setPending(focus);
  }
  useEffect(() => {
    // The inspector shows the run already.
    if (pending === undefined || !(pending.kind === "turn" || goTo(pending))) return;
    setPending(undefined);
    // Keyboard users continue in the inspector.
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

interface RunFeedbackProps {
  readonly receiver: Receiver;
  readonly session: string;
  readonly runId: string;
}

/** The user's feedback on a run, for operators. */
function RunFeedback({ receiver, session, runId }: RunFeedbackProps): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  const feedback = useSession(receiver, session, (view) => view?.feedback?.find((one) => one.runId === runId));
  if (feedback === undefined) return null;
  const { rating, comment, actor } = feedback;
  return (
    <p className="page-inspector-feedback" data-rating={rating}>
      <Icon name={rating} />
      <span>
        {words.rated(rating)}
        {actor === undefined ? "" : ` (${actor})`}
        {comment === undefined ? "" : `: ${comment}`}
      </span>
    </p>
  );
}
