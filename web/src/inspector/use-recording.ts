/** Records the frames of a run while the component is mounted. */
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "react";
import type { Receiver, SessionView, TodoList } from "loom-agent/client";
import type { DialectName } from "loom-agent/dialects";
import { useStore } from "../../../src/react/page-parts.ts";
import { isJsonObject } from "../../../src/protocol/json.ts";
import type { InspectorApi, WireFrame } from "./inspector-api.ts";
import { type FramesState, FrameStore } from "./frame-store.ts";
import { type FrameCollector, recordRun } from "./record-run.ts";
import { type RecordingState, RunRecording } from "./run-recording.ts";
import type { ListedFrame } from "./filter-frames.ts";

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
  return { recording, view: useStore(recording.frames), retry };
}

export interface RunWireFrames {
  readonly wire: WireFrames;
  readonly view: FramesState;
  readonly retry: () => void;
}

/** Reads the same run in another dialect. */
export function useWireFrames({ session, runId, api, isLive }: InspectedRun, dialect: DialectName): RunWireFrames {
  const wire = useMemo(() => new WireFrames(session, runId, dialect), [session, runId, dialect]);
  const retry = useReading(wire, api, isLive);
  return { wire, view: useStore(wire.frames), retry };
}

function useReading(collector: FrameCollector, api: InspectorApi, isLive: boolean): () => void {
  const latest = useRef(isLive);
  useLayoutEffect(() => {
    latest.current = isLive;
  });
  const [attempt, retry] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const stop = new AbortController();
    void recordRun(collector, { api, signal: stop.signal, isLive: () => latest.current });
    return () => stop.abort();
  }, [collector, api, attempt]);
  return retry;
}

/** Returns the to-do lists that existed before a run: those that neither this run nor a later one created. */
export function findEarlierLists(session: SessionView | undefined, turnKey: string): TodoList[] {
  if (session === undefined || session.todoLists.length === 0) return [];
  const from = session.turns.findLastIndex(({ key }) => key === turnKey);
  if (from <= 0) return [];
  const later = new Set<string>();
  for (const turn of session.turns.slice(from))
    for (const part of turn.messages.at(-1)?.parts ?? []) if (part.type === "todo") later.add(part.listId);
  return session.todoLists.filter(({ listId }) => !later.has(listId));
}

/** Collects the frames of a run in another dialect, without decoding them. */
export class WireFrames implements FrameCollector {
  readonly session: string;
  readonly runId: string;
  readonly dialect: DialectName;
  readonly frames: FrameStore<ListedFrame> = new FrameStore<ListedFrame>(() => ({}));
  cursor: string | undefined;

  constructor(session: string, runId: string, dialect: DialectName) {
    this.session = session;
    this.runId = runId;
    this.dialect = dialect;
  }

  add({ text, cursor }: WireFrame): void {
    this.cursor = cursor ?? this.cursor;
    this.frames.add(text, () => ({ text, type: findType(text) }));
  }
}

/** Returns the type of a frame: its `type` field, else the name of its first field. */
export function findType(text: string): string {
  try {
    const frame: unknown = JSON.parse(text);
    if (!isJsonObject(frame)) return "";
    const { type } = frame;
    return typeof type === "string" ? type : (Object.keys(frame)[0] ?? "");
  } catch {
    return "";
  }
}
