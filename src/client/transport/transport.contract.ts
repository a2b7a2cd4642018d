/**
 * What every transport must do, against a server that has a real log behind it. A transport's test sets the stage; this
 * suite plays on it.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ToldSink } from "../../../test/client/told-sink.ts";
import { DIALECT_NAMES, type DialectName } from "../../dialects/index.ts";
import type { ClientCommand, Place, StreamOutcome, StreamRequest, Transport } from "../transport.ts";

export interface TransportStage {
  readonly transport: Transport;
  /** Appends to a session, which is made where there is none: a whole run first, its to-do list `list` with item `i0`. */
  write(session: string): Promise<void>;
  /** Every frame of a session, as its log gives them, with the cursor after it. */
  listFrames(session: string, dialect: DialectName): Promise<readonly { text: string; cursor: string }[]>;
  /** Breaks every connection, as a network does. */
  cut(): void;
  /** Whether connections can be made. */
  isReachable: boolean;
  close(): Promise<void>;
}

export interface TransportTraits {
  /** Whether the wire tells where to go on after each frame, after some, or not at all. */
  readonly cursors: "each" | "some" | "none";
  /** Session names it cannot carry. */
  readonly unsayable: readonly string[];
}

const NEVER = new AbortController().signal;

export function describeTransport(
  name: string,
  traits: TransportTraits,
  setStage: () => Promise<TransportStage>,
): void {
  describe(`transport: ${name}`, () => {
    let stage: TransportStage;
    beforeEach(async () => {
      stage = await setStage();
    });
    afterEach(async () => {
      stage.transport.close();
      await stage.close();
    });

    const ask = (request: Partial<StreamRequest> = {}): StreamRequest => ({
      session: "s",
      dialect: "loom",
      from: {},
      follow: false,
      ...request,
    });

    async function read(request: Partial<StreamRequest> = {}) {
      const sink = new ToldSink();
      const outcome = await stage.transport.open(ask(request), sink, NEVER);
      return { sink, outcome };
    }

    /** Opens and goes on; `ended` tells how it ended. */
    function begin(request: Partial<StreamRequest> = {}) {
      const sink = new ToldSink();
      const stop = new AbortController();
      const settled = vi.fn();
      const ended: Promise<StreamOutcome> = stage.transport
        .open(ask({ follow: true, ...request }), sink, stop.signal)
        .finally(settled);
      return { sink, stop, ended, settled };
    }

    const textsOf = async (session = "s", dialect: DialectName = "loom"): Promise<string[]> =>
      (await stage.listFrames(session, dialect)).map(({ text }) => text);

    describe("a stream", () => {
      it.each(DIALECT_NAMES)("brings every frame in order, then ends: %s", async (dialect) => {
        await stage.write("s");
        const { sink, outcome } = await read({ dialect });
        expect(outcome).toEqual({ kind: "ended" });
        expect(sink.texts).toEqual(await textsOf("s", dialect));
        expect(sink.texts.length).toBeGreaterThan(3);
        expect(sink.faults).toEqual([]);
        expect(sink.signs).toBeGreaterThan(0);
      });

      it("tells cursors as the log does", async () => {
        await stage.write("s");
        const { sink } = await read();
        const cursors = (await stage.listFrames("s", "loom")).map(({ cursor }) => cursor);
        const told = sink.frames.map(([, cursor]) => cursor);
        for (const [index, cursor] of told.entries()) if (cursor !== undefined) expect(cursor).toBe(cursors[index]);
        const count = told.filter((cursor) => cursor !== undefined).length;
        if (traits.cursors === "each") expect(count).toBe(told.length);
        else if (traits.cursors === "none") expect(count).toBe(0);
        else expect(told.at(-1)).toBe(cursors.at(-1));
      });

      it.each(DIALECT_NAMES)("goes on exactly where it was left: %s", async (dialect) => {
        await stage.write("s");
        const frames = await stage.listFrames("s", dialect);
        const whole = await read({ dialect });
        for (let count = 0; count <= frames.length; count++) {
          const from = placeAfter(whole.sink.frames.slice(0, count));
          const { sink, outcome } = await read({ dialect, from });
          expect(outcome).toEqual({ kind: "ended" });
          expect(sink.texts).toEqual(frames.slice(count).map(({ text }) => text));
        }
      });

      it("goes on after a record by its number", async () => {
        await stage.write("s");
        const { sink } = await read({ from: { after: "3" } });
        expect(sink.texts).toEqual((await textsOf()).slice(3));
      });

      it("stops at its limit", async () => {
        await stage.write("s");
        const { sink, outcome } = await read({ from: { after: "2" }, limit: 3 });
        expect(outcome).toEqual({ kind: "ended" });
        expect(sink.texts).toEqual((await textsOf()).slice(2, 5));
        const follow = await read({ limit: 2, follow: true });
        expect(follow.outcome).toEqual({ kind: "ended" });
        expect(follow.sink.texts).toEqual((await textsOf()).slice(0, 2));
      });

      it("that is followed brings what comes later", async () => {
        await stage.write("s");
        const { sink, settled, stop, ended } = begin();
        for (let round = 0; round < 3; round++) {
          const texts = await textsOf();
          await vi.waitFor(() => expect(sink.texts).toEqual(texts));
          expect(settled).not.toHaveBeenCalled();
          await stage.write("s");
        }
        stop.abort();
        expect(await ended).toEqual({ kind: "aborted" });
      });

      it("runs beside others of its session and of other sessions", async () => {
        const sessions = ["s", "ü 1/2?#&%", "第一", "s "];
        for (const session of sessions) await stage.write(session);
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
      it("before the beginning asks for nothing", async () => {
        await stage.write("s");
        const sink = new ToldSink();
        expect(await stage.transport.open(ask(), sink, AbortSignal.abort())).toEqual({ kind: "aborted" });
        expect(sink.texts).toEqual([]);
      });

      it("right after it lets nothing through", async () => {
        await stage.write("s");
        const { sink, stop, ended } = begin();
        stop.abort();
        expect(await ended).toEqual({ kind: "aborted" });
        expect(sink.texts).toEqual([]);
      });

      it("by whoever takes a frame makes that the last", async () => {
        await stage.write("s");
        const { sink, stop, ended } = begin();
        sink.onFrame = () => {
          if (sink.frames.length === 2) stop.abort();
        };
        expect(await ended).toEqual({ kind: "aborted" });
        expect(sink.texts).toHaveLength(2);
      });

      it("leaves room for the same again, which is whole", async () => {
        await stage.write("s");
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
        ["unknown_session", { session: "nobody" }],
        ["cursor_invalid", { from: { after: "no cursor" } }],
        ["cursor_ahead", { from: { after: "4711" } }],
        ["cursor_ahead", { from: { after: "2", skip: 100_000 } }],
      ])("bears its code: %s for %j", async (code, request) => {
        await stage.write("s");
        const { outcome, sink } = await read(request);
        expect(outcome).toMatchObject({ kind: "refused", code });
        expect(sink.texts).toEqual([]);
      });

      it("of a place in another life of the session is `cursor_stale`", async () => {
        await stage.write("s");
        await stage.write("other");
        const [{ cursor } = { cursor: "" }] = await stage.listFrames("other", "loom");
        expect((await read({ from: { after: cursor } })).outcome).toMatchObject({
          kind: "refused",
          code: "cursor_stale",
        });
      });

      it("disturbs no other stream", async () => {
        await stage.write("s");
        const { sink, settled, stop } = begin();
        await read({ session: "nobody" });
        await read({ from: { after: "no cursor" } });
        const texts = await textsOf();
        await vi.waitFor(() => expect(sink.texts).toEqual(texts));
        expect(settled).not.toHaveBeenCalled();
        stop.abort();
      });

      it.each(["", ".", "..", "\ud800", "x".repeat(10_000), "\0"])(
        "of a name that is none rejects nothing: %#",
        async (session) => {
          const { outcome } = await read({ session });
          expect(outcome.kind).toBe("refused");
          if (traits.unsayable.includes(session)) expect(outcome).toMatchObject({ code: "unsupported" });
        },
      );
    });

    describe("a connection", () => {
      it("that breaks loses its streams, and what is opened after goes on", async () => {
        await stage.write("s");
        const streams = [begin(), begin({ dialect: "engine" })];
        const texts = await textsOf();
        await vi.waitFor(() => expect(streams[0]!.sink.texts).toEqual(texts));
        stage.cut();
        for (const { ended } of streams) expect(await ended).toMatchObject({ kind: "lost" });
        await stage.write("s");
        const { sink, outcome } = await read({ from: placeAfter(streams[0]!.sink.frames) });
        expect(outcome).toEqual({ kind: "ended" });
        expect([...texts, ...sink.texts]).toEqual(await textsOf());
      });

      it("that cannot be made is lost, and can be made later", async () => {
        await stage.write("s");
        stage.isReachable = false;
        expect((await read()).outcome).toMatchObject({ kind: "lost" });
        expect(await send({ type: "cancel", run_id: "r" })).toMatchObject({ kind: "lost", code: "connection_lost" });
        stage.isReachable = true;
        expect((await read()).outcome).toEqual({ kind: "ended" });
      });
    });

    let count = 0;
    type Body = ClientCommand extends infer C ? (C extends unknown ? Omit<C, "id" | "session"> : never) : never;
    const send = (body: Body, id = `command-${++count}`) => stage.transport.send({ ...body, id, session: "s" }, NEVER);

    describe("a command", () => {
      const toggle: Body = { type: "todo", list_id: "list", item_id: "i0", completed: true };

      it("that can be carried out is done, and shows in the stream", async () => {
        await stage.write("s");
        const outcome = await send(toggle);
        expect(outcome).toMatchObject({ kind: "done" });
        expect((await textsOf()).at(-1)).toContain("todo_update");
      });

      it("asked twice with the same id is done once", async () => {
        await stage.write("s");
        const first = await send(toggle, "same");
        const { length } = await textsOf();
        expect(await send(toggle, "same")).toEqual(first);
        expect(await textsOf()).toHaveLength(length);
      });

      it("that makes no sense is refused by name", async () => {
        await stage.write("s");
        expect(await send({ ...toggle, item_id: "nothing" })).toMatchObject({
          kind: "refused",
          code: "unknown_todo",
        });
        expect(await send({ type: "approve", call_id: "nothing", decision: "approved" })).toMatchObject({
          kind: "refused",
        });
      });

      it("whose turn has not come is accepted", async () => {
        await stage.write("s");
        expect(await send({ type: "run", message: "hello" })).toEqual({ kind: "accepted" });
      });

      it("beside a stream reaches it", async () => {
        await stage.write("s");
        const { sink, stop, ended } = begin();
        expect(await send(toggle)).toMatchObject({ kind: "done" });
        await vi.waitFor(() => expect(sink.texts.at(-1)).toContain("todo_update"));
        stop.abort();
        await ended;
      });

      it("that nobody waits for is lost", async () => {
        await stage.write("s");
        const command: ClientCommand = { type: "cancel", id: "c", session: "s", run_id: "r" };
        expect(await stage.transport.send(command, AbortSignal.abort())).toMatchObject({ kind: "lost" });
      });
    });

    describe("a transport that is closed", () => {
      it("aborts its streams, and refuses what is asked after", async () => {
        await stage.write("s");
        const { ended } = begin();
        stage.transport.close();
        expect(await ended).toEqual({ kind: "aborted" });
        expect((await read()).outcome).toMatchObject({ kind: "refused", code: "connection_refused" });
        expect(await send({ type: "cancel", run_id: "r" })).toMatchObject({ kind: "refused" });
        stage.transport.close();
      });
    });
  });
}

/** Where to go on after these frames, by the last cursor that came and the frames since. */
function placeAfter(frames: readonly (readonly [text: string, cursor: string | undefined])[]): Place {
  const at = frames.findLastIndex(([, cursor]) => cursor !== undefined);
  const skip = frames.length - 1 - at;
  const after = frames[at]?.[1];
  return { ...(after !== undefined && { after }), ...(skip > 0 && { skip }) };
}
