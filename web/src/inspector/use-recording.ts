/** The frames of a run in a component: recorded while it is shown, and no longer. */
import { useEffect, useMemo, useReducer, useRef, useState } from "react";
import type { Receiver } from "loom-agent/client";
import type { DialectName } from "loom-agent/dialects";
import { useStore } from "loom-agent/react";
import { findEarlierLists } from "./find-earlier-lists.ts";
import type { InspectorApi } from "./inspector-api.ts";
import { type FrameKeeper, recordRun } from "./record-run.ts";
import { type RecordingView, RunRecording } from "./run-recording.ts";
import { WireFrames, type WireView } from "./wire-frames.ts";

export interface AskedRun {
  readonly session: string;
  readonly runId: string;
  readonly api: InspectorApi;
  /** The run goes on, as far as the page knows. */
  readonly isLive: boolean;
}

export interface RecordedRun {
  readonly recording: RunRecording;
  readonly view: RecordingView;
  readonly retry: () => void;
}

/** One run for as long as the component lives: for another it must be another component. */
export function useRecording(asked: AskedRun, turnKey: string, receiver: Receiver): RecordedRun {
  const { session, runId, api, isLive } = asked;
  const [recording] = useState(() => {
    const earlierLists = findEarlierLists(receiver.session(session).getSnapshot(), turnKey);
    return new RunRecording({ session, runId, turnKey, earlierLists });
  });
  const retry = useReading(recording, api, isLive);
  return { recording, view: useStore(recording), retry };
}

export interface WireRun {
  readonly wire: WireFrames;
  readonly view: WireView;
  readonly retry: () => void;
}

/** The same run in another dialect, asked for when it is. */
export function useWireFrames({ session, runId, api, isLive }: AskedRun, dialect: DialectName): WireRun {
  const wire = useMemo(() => new WireFrames(session, runId, dialect), [session, runId, dialect]);
  const retry = useReading(wire, api, isLive);
  return { wire, view: useStore(wire), retry };
}

function useReading(keeper: FrameKeeper, api: InspectorApi, isLive: boolean): () => void {
  const latest = useRef(isLive);
  latest.current = isLive;
  const [attempt, retry] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const stop = new AbortController();
    void recordRun(keeper, { api, signal: stop.signal, isLive: () => latest.current });
    return () => stop.abort();
  }, [keeper, api, attempt]);
  return retry;
}
