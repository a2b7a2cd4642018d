/**
 * The contract of all transports, tested against a server with a real log. The test of a transport provides a fixture.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RecordingSink } from "../client/recording-sink.ts";
import { sampleCases } from "../sampling.ts";
import { DIALECT_NAMES, type DialectName } from "../../src/dialects/index.ts";
import type {
  ClientCommand,
  StreamPosition,
  StreamOutcome,
  StreamRequest,
  Transport,
} from "../../src/client/transport.ts";

export interface TransportFixture {
  readonly transport: Transport;
  /**
   * Appends a run to a session, which is created if needed. The first run creates the to-do list `list` with item `i0`.
   */
  write(session: string): Promise<void>;
  /** Returns every frame of a session from the log, with the cursor after it. */
  listFrames(session: string, dialect: DialectName): Promise<readonly { text: string; cursor: string }[]>;
  /** Breaks every connection, as a network failure does. */
  cut(): void;
  /** Whether new connections are accepted. */
  isReachable: boolean;
  close(): Promise<void>;
}

export interface TransportTraits {
  /** Whether the wire provides a cursor after each frame, after some, or none. */
  readonly cursors: "each" | "some" | "none";
  /** Session names it cannot use. */
  readonly unsupportedNames: readonly string[];
}

const NEVER = new AbortController().signal;

const DIALECTS = sampleCases(DIALECT_NAMES, { perKind: 3 });

export function describeTransport(
  name: string,
  traits: TransportTraits,
  createFixture: () => Promise<TransportFixture>,
): void {
  describe(`transport: ${name}`, () => {
    let fixture: TransportFixture;
    beforeEach(async () => {
      fixture = await createFixture();
    });
    afterEach(async () => {
      fixture.transport.close();
      await fixture.close();
    });

    const ask = (request: Partial<StreamRequest> = {}): StreamRequest => ({
      session: "s",
      dialect: "loom",
      from: {},
      follow: false,
      ...request,
    });

    async function read(request: Partial<StreamRequest> = {}) {
      const sink = new RecordingSink();
      const outcome = await fixture.transport.open(ask(request), sink, NEVER);
      return { sink, outcome };
    }

    /** Opens a stream that follows; `ended` is how it ended. */
    function begin(request: Partial<StreamRequest> = {}) {
      const sink = new RecordingSink();
      const stop = new AbortController();
      const settled = vi.fn();
      const ended: Promise<StreamOutcome> = fixture.transport
        .open(ask({ follow: true, ...request }), sink, stop.signal)
        .finally(settled);
      return { sink, stop, ended, settled };
    }

    const textsOf = async (session = "s", dialect: DialectName = "loom"): Promise<string[]> =>
      (await fixture.listFrames(session, dialect)).map(({ text }) => text);

    describe("a stream", () => {
      it.each(DIALECTS)("delivers every frame in order, then ends: %s", async (dialect) => {
        await fixture.write("s");
        const { sink, outcome } = await read({ dialect });
        expect(outcome).toEqual({ kind: "ended" });
        expect(sink.texts).toEqual(await textsOf("s", dialect));
        expect(sink.texts.length).toBeGreaterThan(3);
        expect(sink.faults).toEqual([]);
        expect(sink.signs).toBeGreaterThan(0);
      });

      it("reports the cursors of the log", async () => {
        await fixture.write("s");
        const { sink } = await read();
        const cursors = (await fixture.listFrames("s", "loom")).map(({ cursor }) => cursor);
        const reported = sink.frames.map(([, cursor]) => cursor);
        for (const [index, cursor] of reported.entries()) if (cursor !== undefined) expect(cursor).toBe(cursors[index]);
        const count = reported.filter((cursor) => cursor !== undefined).length;
        if (traits.cursors === "each") expect(count).toBe(reported.length);
        else if (traits.cursors === "none") expect(count).toBe(0);
        else expect(reported.at(-1)).toBe(cursors.at(-1));
      });

      it.each(DIALECTS)("resumes exactly at its position: %s", async (dialect) => {
        await fixture.write("s");
        const frames = await fixture.listFrames("s", dialect);
        const whole = await read({ dialect });
        for (let count = 0; count <= frames.length; count++) {
          const from = positionAfter(whole.sink.frames.slice(0, count));
          const { sink, outcome } = await read({ dialect, from });
          expect(outcome).toEqual({ kind: "ended" });
          expect(sink.texts).toEqual(frames.slice(count).map(({ text }) => text));
        }
      });

      it("resumes after a record number", async () => {
        await fixture.write("s");
        const { sink } = await read({ from: { after: "3" } });
        expect(sink.texts).toEqual((await textsOf()).slice(3));
      });

      it("stops at its limit", async () => {
        await fixture.write("s");
        const { sink, outcome } = await read({ from: { after: "2" }, limit: 3 });
        expect(outcome).toEqual({ kind: "ended" });
        expect(sink.texts).toEqual((await textsOf()).slice(2, 5));
        const follow = await read({ limit: 2, follow: true });
        expect(follow.outcome).toEqual({ kind: "ended" });
        expect(follow.sink.texts).toEqual((await textsOf()).slice(0, 2));
      });

      it("delivers later frames with follow", async () => {
        await fixture.write("s");
        const { sink, settled, stop, ended } = begin();
        for (let round = 0; round < 3; round++) {
          const texts = await textsOf();
          await vi.waitFor(() => expect(sink.texts).toEqual(texts));
          expect(settled).not.toHaveBeenCalled();
          await fixture.write("s");
        }
        stop.abort();
        expect(await ended).toEqual({ kind: "aborted" });
      });

      it("runs in parallel with others of the same and other sessions", async () => {
        const sessions = ["s", "ü 1/2?#&%", "第一", "s "];
        for (const session of sessions) await fixture.write(session);
        const streams = [...sessions, "s"].map((session) => ({ session, ...begin({ session }) }));
        for (const { session, sink } of streams) {
          const texts = await textsOf(session);
          await vi.waitFor(() => expect(sink.texts).toEqual(texts));
        }
        for (const { stop } of streams) stop.abort();
        for (const { ended } of streams) expect(await ended).toEqual({ kind: "aborted" });
      });
    });

    describe("an abort", () => {
      it("before opening causes no request", async () => {
        await fixture.write("s");
        const sink = new RecordingSink();
        expect(await fixture.transport.open(ask(), sink, AbortSignal.abort())).toEqual({ kind: "aborted" });
        expect(sink.texts).toEqual([]);
      });

      it("right after opening lets nothing through", async () => {
        await fixture.write("s");
        const { sink, stop, ended } = begin();
        stop.abort();
        expect(await ended).toEqual({ kind: "aborted" });
        expect(sink.texts).toEqual([]);
      });

      it("while a frame is taken makes it the last", async () => {
        await fixture.write("s");
        const { sink, stop, ended } = begin();
        sink.onFrame = () => {
          if (sink.frames.length === 2) stop.abort();
        };
        expect(await ended).toEqual({ kind: "aborted" });
        expect(sink.texts).toHaveLength(2);
      });

      it("allows the same stream again, complete", async () => {
        await fixture.write("s");
        for (let round = 0; round < 5; round++) {
          const { stop, ended } = begin();
          stop.abort();
          await ended;
        }
        expect((await read()).sink.texts).toEqual(await textsOf());
      });
    });

    describe("a refusal", () => {
      it.each<[code: string, request: Partial<StreamRequest>]>([
        ["unknown_session", { session: "unknown" }],
        ["cursor_invalid", { from: { after: "not a cursor" } }],
        ["cursor_ahead", { from: { after: "4711" } }],
        ["cursor_ahead", { from: { after: "2", skip: 100_000 } }],
      ])("has its code: %s for %j", async (code, request) => {
        await fixture.write("s");
        const { outcome, sink } = await read(request);
        expect(outcome).toMatchObject({ kind: "refused", code });
        expect(sink.texts).toEqual([]);
      });

      it("of a cursor from another session is `cursor_stale`", async () => {
        await fixture.write("s");
        await fixture.write("other");
        const [{ cursor } = { cursor: "" }] = await fixture.listFrames("other", "loom");
        expect((await read({ from: { after: cursor } })).outcome).toMatchObject({
          kind: "refused",
          code: "cursor_stale",
        });
      });

      it("does not affect other streams", async () => {
        await fixture.write("s");
        const { sink, settled, stop } = begin();
        await read({ session: "unknown" });
        await read({ from: { after: "not a cursor" } });
        const texts = await textsOf();
        await vi.waitFor(() => expect(sink.texts).toEqual(texts));
        expect(settled).not.toHaveBeenCalled();
        stop.abort();
      });

      it.each(sampleCases(["", ".", "..", "\ud800", "x".repeat(10_000), "\0"], { perKind: 2 }))(
        "is returned for an invalid name: %#",
        async (session) => {
          const { outcome } = await read({ session });
          expect(outcome.kind).toBe("refused");
          if (traits.unsupportedNames.includes(session)) expect(outcome).toMatchObject({ code: "unsupported" });
        },
      );
    });

    describe("a connection", () => {
      it("that breaks loses its streams, and new ones resume", async () => {
        await fixture.write("s");
        const streams = [begin(), begin({ dialect: "engine" })];
        const texts = await textsOf();
        await vi.waitFor(() => expect(streams[0]!.sink.texts).toEqual(texts));
        fixture.cut();
        for (const { ended } of streams) expect(await ended).toMatchObject({ kind: "lost" });
        await fixture.write("s");
        const { sink, outcome } = await read({ from: positionAfter(streams[0]!.sink.frames) });
        expect(outcome).toEqual({ kind: "ended" });
        expect([...texts, ...sink.texts]).toEqual(await textsOf());
      });

      it("that cannot be opened is lost, and works later", async () => {
        await fixture.write("s");
        fixture.isReachable = false;
        expect((await read()).outcome).toMatchObject({ kind: "lost" });
        expect(await send({ type: "cancel", run_id: "r" })).toMatchObject({ kind: "lost", code: "connection_lost" });
        fixture.isReachable = true;
        expect((await read()).outcome).toEqual({ kind: "ended" });
      });
    });

    let count = 0;
    type CommandFields = ClientCommand extends infer C
      ? C extends unknown
        ? Omit<C, "id" | "session">
        : never
      : never;
    const send = (body: CommandFields, id = `command-${++count}`) =>
      fixture.transport.send({ ...body, id, session: "s" }, NEVER);

    describe("a command", () => {
      const toggle: CommandFields = { type: "todo", list_id: "list", item_id: "i0", completed: true };

      it("is executed and shows in the stream", async () => {
        await fixture.write("s");
        const outcome = await send(toggle);
        expect(outcome).toMatchObject({ kind: "done" });
        expect((await textsOf()).at(-1)).toContain("todo_update");
      });

      it("sent twice with the same ID is executed once", async () => {
        await fixture.write("s");
        const first = await send(toggle, "same");
        const { length } = await textsOf();
        expect(await send(toggle, "same")).toEqual(first);
        expect(await textsOf()).toHaveLength(length);
      });

      it("that is invalid is refused with a code", async () => {
        await fixture.write("s");
        expect(await send({ ...toggle, item_id: "nothing" })).toMatchObject({
          kind: "refused",
          code: "unknown_todo",
        });
        expect(await send({ type: "approve", call_id: "nothing", decision: "approved" })).toMatchObject({
          kind: "refused",
        });
      });

      it("that has to wait is accepted", async () => {
        await fixture.write("s");
        expect(await send({ type: "run", message: "hello" })).toEqual({ kind: "accepted" });
      });

      it("works while a stream is open", async () => {
        await fixture.write("s");
        const { sink, stop, ended } = begin();
        expect(await send(toggle)).toMatchObject({ kind: "done" });
        await vi.waitFor(() => expect(sink.texts.at(-1)).toContain("todo_update"));
        stop.abort();
        await ended;
      });

      it("that is aborted is lost", async () => {
        await fixture.write("s");
        const command: ClientCommand = { type: "cancel", id: "c", session: "s", run_id: "r" };
        expect(await fixture.transport.send(command, AbortSignal.abort())).toMatchObject({ kind: "lost" });
      });
    });

    describe("a closed transport", () => {
      it("aborts its streams and refuses new requests", async () => {
        await fixture.write("s");
        const { ended } = begin();
        fixture.transport.close();
        expect(await ended).toEqual({ kind: "aborted" });
        expect((await read()).outcome).toMatchObject({ kind: "refused", code: "connection_refused" });
        expect(await send({ type: "cancel", run_id: "r" })).toMatchObject({ kind: "refused" });
        fixture.transport.close();
      });
    });
  });
}

/** Returns the position after these frames, from the last cursor and the number of frames since. */
function positionAfter(frames: readonly (readonly [text: string, cursor: string | undefined])[]): StreamPosition {
  const at = frames.findLastIndex(([, cursor]) => cursor !== undefined);
  const skip = frames.length - 1 - at;
  const after = frames[at]?.[1];
  return { ...(after !== undefined && { after }), ...(skip > 0 && { skip }) };
}
