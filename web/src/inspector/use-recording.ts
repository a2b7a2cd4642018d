/** Records the frames of a run while the component is mounted. */
import { useEffect, useMemo, useReducer, useRef, useState } from "react";
import type { Receiver } from "loom-agent/client";
import type { DialectName } from "loom-agent/dialects";
import { useStore } from "../../../src/react/page-parts.ts";
import { findEarlierLists } from "./find-earlier-lists.ts";
import type { InspectorApi } from "./inspector-api.ts";
import { type FrameCollector, recordRun } from "./record-run.ts";
import { type RecordingState, RunRecording } from "./run-recording.ts";
import { WireFrames, type WireFramesState } from "./wire-frames.ts";

export interface InspectedRun {
  readonly session: string;
  readonly runId: string;
  readonly api: InspectorApi;
  /** The run is live in the page's view. */
  readonly isLive: boolean;
}

export interface RecordedRun {
  readonly recording: RunRecording;
  readonly view: RecordingState;
  readonly retry: () => void;
}

/** Records one run. Give the component a new key for another run. */
export function useRecording(run: InspectedRun, turnKey: string, receiver: Receiver): RecordedRun {
  const { session, runId, api, isLive } = run;
  const [recording] = useState(() => {
    const earlierLists = findEarlierLists(receiver.session(session).getSnapshot(), turnKey);
    return new RunRecording({ session, runId, turnKey, earlierLists });
  });
  const retry = useReading(recording, api, isLive);
  return { recording, view: useStore(recording), retry };
}

export interface RunWireFrames {
  readonly wire: WireFrames;
  readonly view: WireFramesState;
  readonly retry: () => void;
}

/** Reads the same run in another dialect. */
export function useWireFrames({ session, runId, api, isLive }: InspectedRun, dialect: DialectName): RunWireFrames {
  const wire = useMemo(() => new WireFrames(session, runId, dialect), [session, runId, dialect]);
  const retry = useReading(wire, api, isLive);
  return { wire, view: useStore(wire), retry };
}

function useReading(collector: FrameCollector, api: InspectorApi, isLive: boolean): () => void {
  const latest = useRef(isLive);
  latest.current = isLive;
  const [attempt, retry] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const stop = new AbortController();
    void recordRun(collector, { api, signal: stop.signal, isLive: () => latest.current });
    return () => stop.abort();
  }, [collector, api, attempt]);
  return retry;
}
