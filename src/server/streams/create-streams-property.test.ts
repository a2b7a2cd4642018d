import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  gather,
  interleavedSessionArbitrary,
  mixedSessionArbitrary,
  statefulSessionArbitrary,
} from "../../../test/log-sessions.ts";
import { MemoryLog, openStream, type StreamFrame } from "../../log/index.ts";
import { parseCursor } from "../../log/cursor.ts";
import { createEntry } from "../../log/entry.ts";
import { describeHolder } from "../../log/holder.ts";
import type { StampedRecord } from "../../protocol/index.ts";
import { SERVER_LIMITS } from "../guard/server-limits.ts";
import { createStreams } from "./create-streams.ts";
import type { StreamReader, ReadRequest, Streams } from "./stream-reader.ts";
import { LONG } from "../../../test/sampling.ts";

const VIEWS: readonly Pick<ReadRequest, "dialect" | "modes" | "followSession">[] = [
  { dialect: "loom" },
  { dialect: "loom", modes: ["messages", "values"] },
  { dialect: "loom", modes: ["tools"] },
  { dialect: "engine" },
  { dialect: "lumine" },
  { dialect: "lumine", followSession: true },
  { dialect: "stream-event" },
  { dialect: "export", modes: ["all"] },
];

type View = (typeof VIEWS)[number] & Pick<ReadRequest, "run">;

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A client that reads at its own pace, disconnects and resumes. Some report beforehand that they have no room. */
class Client {
  readonly frames: StreamFrame[] = [];
  /** The number of batches it takes before it is full. */
  room = Number.POSITIVE_INFINITY;
  error: unknown;
  isOpen = false;
  /** The reader ended because its range is complete. */
  isAtEnd = false;
  #reader: StreamReader | undefined;
  #start = "";
  readonly #streams: Streams;
  readonly #view: View;
  readonly #checksRoom: boolean;

  constructor(streams: Streams, view: View, checksRoom: boolean) {
    this.#streams = streams;
    this.#view = view;
    this.#checksRoom = checksRoom;
  }

  async open(countsFrames: boolean): Promise<void> {
    if (this.isOpen || this.isAtEnd) return;
    this.isOpen = true;
    const last = this.frames.at(-1)?.cursor;
    const start =
      countsFrames && this.#start !== "" ? { after: this.#start, skip: this.frames.length } : { after: last };
    const reader = await this.#streams.open("s", { ...this.#view, ...start, follow: true, transport: "http" });
    if (reader === undefined) throw new Error("the request was aborted");
    if (this.#start === "") this.#start = reader.cursor;
    this.#reader = reader;
    let deliveredCursor = reader.cursor;
    reader.start({
      ...(this.#checksRoom ? { mayWrite: () => this.room > 0 } : {}),
      write: ({ frames, cursor }) => {
        deliveredCursor = cursor;
        expect(this.isAtEnd || (this.#checksRoom && this.room <= 0)).toBe(false);
        this.frames.push(...frames);
        expect(cursor).toBe(frames.at(-1)?.cursor);
        this.room--;
        return this.room > 0;
      },
      end: ({ reason, error, cursor }) => {
        expect(cursor).toBe(deliveredCursor);
        this.error = reason === "error" ? error : undefined;
        this.isAtEnd = reason === "end";
        this.isOpen = false;
      },
    });
  }

  resume(room: number): void {
    this.room = room;
    if (room > 0) this.#reader?.resume();
  }

  drop(): void {
    this.#reader?.close();
    this.#reader = undefined;
  }
}

type Action =
  | { readonly do: "append"; readonly count: number }
  | { readonly do: "open" | "drop"; readonly who: number; readonly counts: boolean }
  | { readonly do: "room"; readonly who: number; readonly room: number }
  | { readonly do: "wait"; readonly turns: number };

const CLIENTS = 4;
const clientIndex = fc.nat(CLIENTS - 1);
const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ do: fc.constant("append" as const), count: fc.integer({ min: 1, max: 6 }) }),
  fc.record({
    do: fc.constantFrom("open" as const, "open" as const, "drop" as const),
    who: clientIndex,
    counts: fc.boolean(),
  }),
  fc.record({ do: fc.constant("room" as const), who: clientIndex, room: fc.constantFrom(0, 1, 2, 1000) }),
  fc.record({ do: fc.constant("wait" as const), turns: fc.nat(3) }),
);

const scene = fc.record({
  records: fc.oneof(mixedSessionArbitrary, interleavedSessionArbitrary, statefulSessionArbitrary),
  before: fc.double({ min: 0, max: 1, noNaN: true }),
  view: fc.constantFrom(...VIEWS),
  maxSharedBytes: fc.constantFrom(0, 600, 3000, 1_000_000),
  maxPageRecords: fc.constantFrom(1, 3, 1000),
  maxFeedBytes: fc.constantFrom(1, 1_000_000),
  snapshotRecords: fc.constantFrom(1, 1000),
  lingerMs: fc.constantFrom(0, 10_000),
  maxCatchUps: fc.constantFrom(1, 3),
  actions: fc.array(action, { minLength: 5, maxLength: 60 }),
});

async function openWriter(log: MemoryLog, records: readonly StampedRecord[]) {
  await log.createSession("s");
  const lease = await log.acquire("s", { holder: describeHolder(), ttlMs: 60_000 });
  let at = 0;
  return async (count: number): Promise<void> => {
    const entries = records.slice(at, at + count).map(createEntry);
    if (entries.length === 0) return;
    const expectedLastId = at;
    at += entries.length;
    await log.append({ sessionId: "s", epoch: lease.epoch, expectedLastId, entries });
  };
}

async function play(
  actions: readonly Action[],
  clients: readonly Client[],
  append: (count: number) => Promise<void>,
  mayCount = true,
): Promise<void> {
  const opening: Promise<void>[] = [];
  for (const step of actions) {
    if (step.do === "append") await append(step.count);
    else if (step.do === "wait") for (let n = 0; n < step.turns; n++) await tick();
    else if (step.do === "room") clients[step.who]?.resume(step.room);
    else if (step.do === "drop") clients[step.who]?.drop();
    else opening.push(clients[step.who]?.open(mayCount && step.counts) ?? Promise.resolve());
  }
  await Promise.all(opening);
}

async function readWhole(log: MemoryLog, view: View, after = 0): Promise<readonly StreamFrame[]> {
  const { followSession, modes, dialect } = view;
  const pages = openStream(log, "s", {
    dialect: dialect as "loom",
    modes: modes?.[0] === "all" ? "all" : (modes as ["messages"] | undefined),
    after,
    encoderOptions: followSession === true ? { follow: true } : {},
  });
  return (await gather(pages)).flat();
}

describe("readers that disconnect and resume at random", () => {
  it("receive the same frames as a reader that never disconnects", async () => {
    await fc.assert(
      fc.asyncProperty(
        scene,
        async ({ records, before, view, actions, maxPageRecords, maxFeedBytes, snapshotRecords, ...limits }) => {
          const log = new MemoryLog({ limits: { maxPageRecords, maxFeedBytes, snapshotRecords } });
          const append = await openWriter(log, records);
          await append(Math.floor(before * records.length));
          const streams = createStreams({ log, limits: { ...SERVER_LIMITS, ...limits } });
          const clients = Array.from({ length: CLIENTS }, (_, n) => new Client(streams, view, n % 2 === 1));
          await play(actions, clients, append);
          await append(records.length);
          const expected = await readWhole(log, view);
          for (const client of clients) {
            client.resume(Number.POSITIVE_INFINITY);
            await client.open(false);
          }
          for (let n = 0; n < 2000 && clients.some(({ frames }) => frames.length < expected.length); n++) await tick();
          for (const { frames, error } of clients) {
            expect(error).toBeUndefined();
            expect(frames).toEqual(expected);
          }
          await streams.close();
          expect(streams.size).toBe(0);
          await log.close();
        },
      ),
      { numRuns: LONG ? 3000 : 40, seed: 8 },
    );
  }, 600_000);

  it("of one run receive exactly its frames, and end when the run has ended", async () => {
    await fc.assert(
      fc.asyncProperty(
        scene,
        async ({ records, before, view, actions, maxPageRecords, maxFeedBytes, snapshotRecords, ...limits }) => {
          const names = records.flatMap(({ event }) => (event.type === "run_start" ? [event.run_id as string] : []));
          fc.pre(names.length > 0);
          const log = new MemoryLog({ limits: { maxPageRecords, maxFeedBytes, snapshotRecords } });
          const append = await openWriter(log, records);
          await append(Math.floor(before * records.length));
          const streams = createStreams({ log, limits: { ...SERVER_LIMITS, ...limits } });
          const runs = Array.from({ length: CLIENTS }, (_, n) => names[n % names.length] as string);
          const clients = runs.map((run, n) => new Client(streams, { ...view, run }, n % 2 === 1));
          await play(actions, clients, append, false);
          await append(records.length);
          for (const [n, client] of clients.entries()) {
            const run = await log.getRun("s", runs[n] as string);
            if (run === undefined) throw new Error("the run is missing from the log");
            const { firstId, lastId = records.length } = run;
            const rest = await readWhole(log, view, firstId - 1);
            const expected = rest.filter(({ cursor }) => parseCursor(cursor).eventId <= lastId);
            client.resume(Number.POSITIVE_INFINITY);
            await client.open(false);
            const isDone = (): boolean =>
              client.frames.length >= expected.length && client.isAtEnd === (run.lastId !== undefined);
            for (let k = 0; k < 500 && !isDone(); k++) await tick();
            expect(client.error).toBeUndefined();
            expect(client.frames).toEqual(expected);
            expect(client.isAtEnd).toBe(run.lastId !== undefined);
          }
          await streams.close();
          await log.close();
        },
      ),
      { numRuns: LONG ? 3000 : 40, seed: 8 },
    );
  }, 600_000);
});
