/**
 * A scene is one component in its states. What a component shows of a session comes from events, which a receiver
 * reads as it reads those of a server.
 */
import { type ReactNode, useState } from "react";
import { createLoomReceiver, type Receiver } from "loom-agent/client";
import type { LoomEvent } from "loom-agent/protocol";
import { RunItem, type UiLanguage } from "loom-agent/react";
import { NOW } from "./now.ts";

export interface Scene {
  readonly component: string;
  /** Modules with the components that the scene shows. `parts/tool-card` is in `src/react`, `web/…` in `web/src`. */
  readonly modules: readonly string[];
  readonly states: { readonly [state: string]: (language: UiLanguage) => ReactNode };
}

const STEP_MS = 250;

/** Returns the text for the language. */
export function pick<T>(language: UiLanguage, en: T, zh: T): T {
  return language === "zh" ? zh : en;
}

/** A session that is written event by event. */
export class SceneSession {
  readonly receiver: Receiver = createLoomReceiver({ notify: "sync" });
  readonly id: string;
  readonly frames: string[] = [];
  readonly #source = this.receiver.open({ dialect: "loom" });
  #runId = "";
  #first = 0;
  #last = 0;
  #ts = NOW - 60_000;

  constructor(id = "scene") {
    this.id = id;
  }

  begin(runId: string, more: Partial<Extract<LoomEvent, { readonly type: "run_start" }>> = {}): this {
    this.#runId = runId;
    this.#first = this.#last + 1;
    return this.putAt(undefined, { type: "run_start", agent: "react", contiguous: true, ...more });
  }

  /** Writes events of the run's node. */
  put(...events: readonly LoomEvent[]): this {
    for (const event of events) this.putAt("node-1", event);
    return this;
  }

  /** Writes an event of the run itself, or of another node run. */
  putAt(nodeId: string | undefined, event: LoomEvent): this {
    const place = { session_id: this.id, run_id: this.#runId, ...(nodeId === undefined ? {} : { node_id: nodeId }) };
    // On the wire a reply has no type.
    const { type, ...fields } = event;
    const body = type === "reply" ? fields : event;
    this.#ts += STEP_MS;
    const frame = JSON.stringify({ ...place, event_id: ++this.#last, ts: this.#ts, ...body });
    this.frames.push(frame);
    this.#source.push(frame);
    return this;
  }

  end(more: Partial<Extract<LoomEvent, { readonly type: "run_end" }>> = {}, reply = ""): this {
    const isCompleted = more.status === undefined || more.status === "completed";
    const last = this.#last + (isCompleted ? 2 : 1);
    const proof = { first_event_id: this.#first, last_event_id: last, frame_count: last - this.#first + 1 };
    const summary = { total_tokens: 1_482, prompt_tokens: 1_204, completion_tokens: 278, duration_ms: 4_200 };
    this.putAt(undefined, { type: "run_end", status: "completed", summary, ...proof, ...more });
    return isCompleted ? this.putAt("node-1", { type: "reply", reply }) : this;
  }

  /** Leaves out one event, as if it was lost. */
  lose(): this {
    this.#last++;
    return this;
  }

  /** Ends the stream. A run that has not ended is then cut off. */
  close(): this {
    this.#source.end();
    return this;
  }
}

/** Answers of one block of text. */
export const say = (content: string): LoomEvent => ({ type: "message_chunk", id: "think", content });

export interface RunSceneProps {
  /** Writes the session. */
  readonly write: (session: SceneSession) => unknown;
}

/** Shows the last run of a session. */
export function RunScene({ write }: RunSceneProps): ReactNode {
  const session = useScene(write);
  const turns = session.receiver.session(session.id).getSnapshot()?.turns ?? [];
  return (
    <RunItem
      receiver={session.receiver}
      sessionId={session.id}
      turnKey={turns.at(-1)?.key ?? ""}
      position={turns.length}
      count={turns.length}
    />
  );
}

/** Returns the session, written once. */
export function useScene(write: (session: SceneSession) => unknown): SceneSession {
  const [session] = useState(() => {
    const created = new SceneSession();
    write(created);
    return created;
  });
  return session;
}
