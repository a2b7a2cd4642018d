/** Events of 200 bytes, as long as a token of an agent, and stores that they are appended to. */
import type { Log } from "../src/log/log.ts";
import type { Prepare } from "./benchmark.ts";

export const EVENT_BYTES = 200;

const bodyOf = (content: string) => ({ type: "message_chunk", content, id: "think" }) as const;
const envelopeOf = (session: string, id: number) => ({
  session_id: session,
  run_id: "run-0001",
  node_id: "run-think-1",
  event_id: id,
  ts: 1.7e12,
});

/** Content that makes the frame of an event 200 bytes long, by the length of its IDs. */
const contents = new Map<number, string>();

function contentOf(session: string, id: number): string {
  const digits = session.length + String(id).length;
  let content = contents.get(digits);
  if (content === undefined) {
    const text = JSON.stringify({ ...envelopeOf(session, id), ...bodyOf("") });
    content = "x".repeat(EVENT_BYTES - text.length);
    contents.set(digits, content);
  }
  return content;
}

/** The event as an object, for those that send JSON. */
export function createFrame(session: string, id: number): object {
  return { ...envelopeOf(session, id), ...bodyOf(contentOf(session, id)) };
}

export type Write = (events: number) => Promise<void>;

/** Returns a function that appends as many events of a session at once and waits until they are stored. */
export async function openWriter(log: Log, sessionId: string): Promise<Write> {
  const { createEntry } = await import("../src/log/entry.ts");
  const { describeHolder } = await import("../src/log/holder.ts");
  const lease = await log.acquire(sessionId, { holder: describeHolder(), ttlMs: 3_600_000 });
  let last = lease.lastId;
  return async (events) => {
    const entries = Array.from({ length: events }, (_, index) => {
      const id = last + 1 + index;
      return createEntry({ envelope: envelopeOf(sessionId, id), event: bodyOf(contentOf(sessionId, id)) });
    });
    ({ lastId: last } = await log.append({ sessionId, epoch: lease.epoch, expectedLastId: last, entries }));
  };
}

/** A new store with sessions 0 to `writers` - 1. */
export interface Store {
  /** Appends as many events to a session at once. Resolves when they are on disk. */
  append(session: number, events: number): Promise<unknown>;
  close(): Promise<unknown> | void;
}

export async function openLogStore(open: () => Promise<Log>, writers: number): Promise<Store> {
  const log = await open();
  const writes = await Promise.all(Array.from({ length: writers }, (_, index) => openWriter(log, nameOf(index))));
  return {
    append: (session, events) => writes[session]?.(events) ?? Promise.resolve(),
    close: () => log.close(),
  };
}

export const nameOf = (session: number): string => `session-${session}`;

/** Returns the next texts of a session, for stores that only keep texts. */
export function createTexts(): (session: number, events: number) => { readonly id: number; readonly text: string }[] {
  const lastIds: number[] = [];
  return (session, events) => {
    const last = lastIds[session] ?? 0;
    lastIds[session] = last + events;
    return Array.from({ length: events }, (_, index) => {
      const id = last + 1 + index;
      return { id, text: JSON.stringify(createFrame(nameOf(session), id)) };
    });
  };
}

/** Many writers of one store, each of which waits for its append before the next one. */
export const appendEach =
  (writers: number, open: () => Promise<Store>, perAppend = 1): Prepare =>
  async (size) => {
    const store = await open();
    return () =>
      Promise.all(
        Array.from({ length: writers }, async (_, session) => {
          for (let event = 0; event < size / writers; event += perAppend) await store.append(session, perAppend);
        }),
      );
  };
