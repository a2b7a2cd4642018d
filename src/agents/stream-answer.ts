/**
 * A run as the StreamEvents of 002, read from the log at the reader's own pace: one who is slow, or never comes back,
 * holds up nobody and keeps nothing open but what it has in its hands.
 *
 * Invariant: the events end with `agent_finish`, which says how the run ended, or reading them throws; there is no silent
 * end.
 */
import { createStreamEventProjection, type StreamEventFrame } from "../dialects/stream-event/index.ts";
import { LoomError, type RunEndEvent, type StampedRecord } from "../protocol/index.ts";
import type { Ask } from "./ask.ts";

export type StreamEvent = StreamEventFrame;

export type AnswerStream = AsyncGenerator<StreamEvent, void, undefined>;

/** Creates the question, or throws, and begins it: in whatever context the caller had. */
export type Begin = (begin: (ask: Ask) => Promise<Ask>) => Promise<Ask>;

/** Nothing begins before the first event is asked for. */
export function streamAnswer(begin: Begin): AnswerStream {
  let ask: Ask | undefined;
  const leave = (): void => ask?.stop(new LoomError("cancelled", "the reader has left"));
  const events = readEvents(async () =>
    begin(async (created) => {
      ask = created;
      await created.begin();
      return created;
    }),
  );
  return {
    next: () => events.next(),
    // Not only when it is the generator's turn: it may be waiting for a model that says nothing.
    return: (value) => {
      leave();
      return events.return(value);
    },
    throw: (error) => {
      leave();
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

async function* readEvents(begin: () => Promise<Ask>): AnswerStream {
  const ask = await begin();
  try {
    for await (const page of projectRun(ask)) for (const event of page) yield event;
  } finally {
    ask.stop(new LoomError("cancelled", "the reader has left"));
    await ask.finished.catch(() => undefined);
  }
}

/** By itself, so that what goes wrong here is explained, and what the reader throws into the stream stays as it is. */
async function* projectRun(ask: Ask): AsyncGenerator<readonly StreamEvent[], void, undefined> {
  const projection = createStreamEventProjection();
  try {
    for await (const page of readRun(ask)) yield page.flatMap((record) => projection.project(record));
  } catch (error) {
    throw ask.explain(error);
  }
}

/** The records of the run, page by page to its last; they are the truth, whoever has written them. */
async function* readRun(ask: Ask): AsyncGenerator<readonly StampedRecord[], void, undefined> {
  const bell = createBell();
  const { log, after } = ask.read(bell.ring);
  const { sessionId, runId } = ask.ids;
  let isOver = false;
  const onOver = (): void => {
    isOver = true;
    bell.ring();
  };
  ask.finished.then(onOver, onOver);
  for (let position = after; ;) {
    bell.hush();
    const wasOver = isOver;
    const page = log.peek(sessionId, position) ?? (await log.read(sessionId, { after: position }));
    const own = page.records.filter(({ envelope }) => envelope.run_id === runId);
    if (own.length > 0) yield own;
    if (own.some((record) => isLast(record))) return;
    if (!page.isEmpty) {
      position = page.lastId;
      continue;
    }
    // All that is durable was given, and no more will come.
    if (wasOver) await refuseCut(ask);
    await bell.rung();
  }
}

function isLast({ event }: StampedRecord): boolean {
  return event.type === "reply" || (event.type === "run_end" && (event as RunEndEvent).status !== "completed");
}

/** `finished` says why, where it knows. */
async function refuseCut(ask: Ask): Promise<never> {
  await ask.finished;
  throw new LoomError("stream_cut", "the end of the run is not in the log");
}

function createBell() {
  let bell = Promise.withResolvers<void>();
  return {
    ring: (): void => bell.resolve(),
    hush(): void {
      bell = Promise.withResolvers();
    },
    rung: (): Promise<void> => bell.promise,
  };
}
