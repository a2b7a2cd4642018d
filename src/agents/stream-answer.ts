/**
 * Reads a run from the log as events of any form, at the reader's pace. A slow or abandoned reader does not block the
 * run.
 *
 * Invariant: the events end with the last record of the run, or reading throws; there is no silent end. After the last
 * event of a failed run, reading throws the error of the run.
 */
import { createStreamEventProjection, type StreamEventFrame } from "../dialects/stream-event/index.ts";
import { LoomError, type StampedRecord } from "../protocol/index.ts";
import { isTerminal } from "../protocol/record.ts";
import type { AgentCall } from "./agent-call.ts";
import { createWakeup } from "../log/create-wakeup.ts";

/** One event of `stream`, in the dialect `stream-event`. */
export type StreamEvent = StreamEventFrame;

/** The events of one run. */
export type EventStream<Item> = AsyncGenerator<Item, void, undefined>;

/** The events of one run, as `stream` returns them. */
export type AnswerStream = EventStream<StreamEvent>;

/** Creates the call and passes it to `begin`, in the async context of the caller. */
export type StartCall = (begin: (call: AgentCall) => Promise<AgentCall>) => Promise<AgentCall>;

/** Creates the function that converts each record of the run to events. */
export type CreateProjection<Item> = (call: AgentCall) => (record: StampedRecord) => readonly Item[];

/** Reads a run as StreamEvents; the last one is `agent_finish`. */
export function streamAnswer(begin: StartCall): AnswerStream {
  return streamRun(begin, () => {
    const projection = createStreamEventProjection();
    return (record) => projection.project(record);
  });
}

/** Nothing starts before the first event is requested. */
export function streamRun<Item>(begin: StartCall, createProjection: CreateProjection<Item>): EventStream<Item> {
  let call: AgentCall | undefined;
  const cancel = (): void => call?.stop(new LoomError("cancelled", "The reader stopped reading"));
  const start = async (): Promise<AgentCall> =>
    begin(async (created) => {
      call = created;
      await created.begin();
      return created;
    });
  const events = readEvents(start, createProjection);
  return {
    next: () => events.next(),
    // Cancels immediately, because the generator may be waiting for a model that sends nothing.
    return: (value) => {
      cancel();
      return events.return(value);
    },
    throw: (error) => {
      cancel();
      return events.throw(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      await this.return();
    },
  };
}

async function* readEvents<Item>(
  begin: () => Promise<AgentCall>,
  createProjection: CreateProjection<Item>,
): EventStream<Item> {
  const call = await begin();
  try {
    for await (const page of projectRun(call, createProjection(call))) for (const event of page) yield event;
    await call.assertNotFailed();
  } finally {
    call.stop(new LoomError("cancelled", "The reader stopped reading"));
    await call.finished.catch(() => undefined);
  }
}

/** A separate generator, so that errors thrown into the stream by the reader are not converted. */
async function* projectRun<Item>(
  call: AgentCall,
  project: (record: StampedRecord) => readonly Item[],
): AsyncGenerator<readonly Item[], void, undefined> {
  try {
    for await (const page of readRun(call)) yield page.flatMap((record) => project(record));
  } catch (error) {
    throw call.toCallerError(error);
  }
}

/** Yields the records of the run, page by page, up to its last one. */
async function* readRun(call: AgentCall): AsyncGenerator<readonly StampedRecord[], void, undefined> {
  const wakeup = createWakeup();
  const { log, after } = call.startReading(wakeup.notify);
  const { sessionId, runId } = call.ids;
  let isOver = false;
  const onOver = (): void => {
    isOver = true;
    wakeup.notify();
  };
  call.finished.then(onOver, onOver);
  for (let position = after; ;) {
    wakeup.reset();
    const wasOver = isOver;
    const page = log.peek(sessionId, position) ?? (await log.read(sessionId, { after: position }));
    const own = page.records.filter(({ envelope }) => envelope.run_id === runId);
    if (own.length > 0) yield own;
    if (own.some(({ event }) => isTerminal(event))) return;
    if (!page.isEmpty) {
      position = page.lastId;
      continue;
    }
    // All durable records were read and no more will follow.
    if (wasOver) await throwTruncated(call);
    await wakeup.wait();
  }
}

/** Throws the error of `finished` if there is one. */
async function throwTruncated(call: AgentCall): Promise<never> {
  await call.finished;
  throw new LoomError("stream_cut", "The log does not contain the end of the run");
}
