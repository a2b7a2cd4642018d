import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RecordingSink } from "../../../test/client/recording-sink.ts";
import { CONTROL_VERSION, type DownFrame } from "../../protocol/control/index.ts";
import type { ClientCommand, CommandResult, StreamOutcome, StreamRequest } from "../transport.ts";
import { ControlClient } from "./control-client.ts";

const NEVER = new AbortController().signal;
const REQUEST: StreamRequest = { session: "a", dialect: "loom", from: {}, follow: true };
const COMMAND: ClientCommand = { type: "cancel", id: "c1", session: "a", run_id: "r1" };

/** Creates a client; the test acts as its server. */
function begin() {
  const sent: Record<string, unknown>[] = [];
  let idle = 0;
  const client = new ControlClient({
    send: (text) => sent.push(JSON.parse(text) as Record<string, unknown>),
    onIdle: () => idle++,
    commandTimeoutMs: 1000,
    maxCommandLength: 1000,
  });
  const say = (frame: DownFrame): void => client.receive(JSON.stringify(frame));
  const open = (request: Partial<StreamRequest> = {}, signal = NEVER) => {
    const sink = new RecordingSink();
    let outcome: StreamOutcome | undefined;
    void client.open({ ...REQUEST, ...request }, sink, signal).then((ended) => (outcome = ended));
    const { id } = sent.at(-1) as { id: string };
    const { session, dialect } = { ...REQUEST, ...request };
    const flow = (): void => say({ type: "subscribed", id, session, dialect, first_id: 1, last_id: 9 });
    return { sink, id, flow, outcome: () => outcome };
  };
  const send = (command: Partial<ClientCommand> = {}, signal = NEVER) => {
    let outcome: CommandResult | undefined;
    void client.send({ ...COMMAND, ...command } as ClientCommand, signal).then((answer) => (outcome = answer));
    return { outcome: () => outcome };
  };
  const frames = (session: string, texts: string[], cursor = "c"): void =>
    say({ type: "frames", session, dialect: "loom", frames: texts, cursor });
  return { client, sent, say, open, send, frames, idle: () => idle };
}

const settle = (): Promise<void> => vi.advanceTimersByTimeAsync(0).then(() => undefined);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe("a stream", () => {
  it("is requested with its position", () => {
    const { open, sent } = begin();
    const { id: a } = open({ from: { after: "x", skip: 2 }, follow: false, limit: 5 });
    const { id: b } = open({ session: "b", from: { after: "y", skip: 0, of: "z" } });
    expect(a).not.toBe(b);
    expect(sent).toEqual([
      {
        type: "subscribe",
        id: a,
        session: "a",
        dialect: "loom",
        strict: false,
        follow: false,
        after: "x",
        skip: 2,
        limit: 5,
      },
      { type: "subscribe", id: b, session: "b", dialect: "loom", strict: false, follow: true, after: "y", of: "z" },
    ]);
  });

  it("delivers its own frames, the last of each message with the cursor", async () => {
    const { open, frames, say } = begin();
    const a = open();
    const b = open({ session: "b" });
    a.flow();
    b.flow();
    frames("a", ["1", "2"], "c2");
    frames("b", ["x"], "cx");
    frames("unknown", ["y"]);
    say({ type: "frames", session: "a", dialect: "engine", frames: ["z"], cursor: "cz" });
    frames("a", ["3"], "c3");
    frames("a", [], "c3");
    expect(a.sink.frames).toEqual([
      ["1", undefined],
      ["2", "c2"],
      ["3", "c3"],
    ]);
    expect(b.sink.texts).toEqual(["x"]);
    say({ type: "end", session: "a", dialect: "loom" });
    await settle();
    expect(a.outcome()).toEqual({ kind: "ended" });
    expect(b.outcome()).toBeUndefined();
  });

  it("waits until the server has ended the previous one", async () => {
    const { open, say, sent } = begin();
    for (const settle of ["ack", "refusal"] as const) {
      const stop = new AbortController();
      open({}, stop.signal).flow();
      stop.abort();
      const { id } = sent.at(-1) as { id: string };
      const { length } = sent;
      const unwanted = new AbortController();
      open({}, unwanted.signal);
      unwanted.abort();
      const next = new AbortController();
      open({ from: { after: settle } }, next.signal);
      expect(sent).toHaveLength(length);
      if (settle === "ack") say({ type: "ack", id });
      else say({ type: "refusal", id, code: "not_subscribed", message: "" });
      expect(sent).toHaveLength(length + 1);
      expect(sent.at(-1)).toMatchObject({ type: "subscribe", after: settle });
      next.abort();
      say({ type: "ack", id: (sent.at(-1) as { id: string }).id });
    }
  });

  it("ignores frames before it is subscribed", async () => {
    const { open, frames, say, sent } = begin();
    const stop = new AbortController();
    const before = open({}, stop.signal);
    before.flow();
    stop.abort();
    const { id: left } = sent.at(-1) as { id: string };
    const again = open();
    frames("a", ["late"]);
    say({ type: "end", session: "a", dialect: "loom" });
    say({ type: "ack", id: left });
    say({ type: "subscribed", id: before.id, session: "a", dialect: "loom", first_id: 1, last_id: 1 });
    frames("a", ["late, too"]);
    const { id } = sent.at(-1) as { id: string };
    say({ type: "subscribed", id, session: "a", dialect: "loom", first_id: 1, last_id: 1 });
    frames("a", ["own"]);
    await settle();
    expect(again.sink.texts).toEqual(["own"]);
    expect(again.outcome()).toBeUndefined();
  });

  it("ends at once when aborted, also within a message", async () => {
    const { open, frames, sent, client } = begin();
    const stop = new AbortController();
    const { sink, flow, outcome } = open({}, stop.signal);
    flow();
    sink.onFrame = (text) => {
      if (text === "2") stop.abort();
    };
    frames("a", ["1", "2", "3"]);
    frames("a", ["4"]);
    await settle();
    expect(sink.texts).toEqual(["1", "2"]);
    expect(outcome()).toEqual({ kind: "aborted" });
    expect(sent.at(-1)).toMatchObject({ type: "unsubscribe", session: "a", dialect: "loom" });
    expect(client.has("a", "loom")).toBe(false);
  });

  it("is not requested when already aborted", async () => {
    const { client, sent } = begin();
    expect(await client.open(REQUEST, new RecordingSink(), AbortSignal.abort())).toEqual({ kind: "aborted" });
    expect(sent).toEqual([]);
  });

  it("can be open only once", async () => {
    const { open, client } = begin();
    open();
    expect(client.has("a", "loom")).toBe(true);
    expect(client.has("a", "engine")).toBe(false);
    const outcome = await client.open(REQUEST, new RecordingSink(), NEVER);
    expect(outcome).toMatchObject({ kind: "refused", code: "already_subscribed" });
  });

  it("is refused or ended without affecting others", async () => {
    const { open, say } = begin();
    const a = open();
    const b = open({ session: "b" });
    const details = { first_event_id: 3 };
    say({ type: "refusal", id: a.id, session: "a", dialect: "loom", code: "evicted", message: "gone", details });
    b.flow();
    await settle();
    expect(a.outcome()).toEqual({ kind: "refused", code: "evicted", message: "gone", details });
    expect(b.outcome()).toBeUndefined();
    say({ type: "refusal", id: b.id, session: "b", dialect: "loom", code: "of_tomorrow", message: "no" });
    await settle();
    expect(b.outcome()).toEqual({ kind: "refused", code: "connection_refused", message: "no" });
  });

  it("is notified of what was stored before, and when it was delivered", () => {
    const { open, say } = begin();
    const { id, sink } = open();
    const history: (number | undefined)[] = [];
    Object.assign(sink, { history: (lastId?: number) => history.push(lastId) });
    say({ type: "caught_up", session: "a", dialect: "loom" });
    say({ type: "subscribed", id, session: "a", dialect: "loom", first_id: 1, last_id: 8 });
    say({ type: "caught_up", session: "a", dialect: "loom" });
    expect(history).toEqual([8, undefined]);
  });

  it("is notified that the link is alive, but not for each frame of other streams", () => {
    const { open, frames, say } = begin();
    const a = open();
    const b = open({ session: "b" });
    const ungranted = open({ session: "c" });
    a.flow();
    b.flow();
    const before = b.sink.signs;
    for (let count = 0; count < 100; count++) frames("a", ["x"]);
    expect(b.sink.signs - before).toBeLessThanOrEqual(1);
    say({ type: "heartbeat" });
    say({ type: "pong" });
    expect(b.sink.signs - before).toBeGreaterThanOrEqual(2);
    expect(ungranted.sink.signs).toBe(0);
  });
});

describe("an unreadable message", () => {
  it("ends only the stream it names, and unsubscribes it", async () => {
    const { client, open, sent } = begin();
    const a = open();
    const b = open({ session: "b" });
    client.receive(`{"type":"frames","session":"a","dialect":"loom","frames":[7],"cursor":"c"}`);
    await settle();
    expect(a.outcome()).toMatchObject({ kind: "lost" });
    expect(sent.at(-1)).toMatchObject({ type: "unsubscribe", session: "a" });
    expect(b.outcome()).toBeUndefined();
    expect(b.sink.faults).toEqual([]);
  });

  it("is ignored if its type belongs to a newer server", async () => {
    const { client, open } = begin();
    const { sink, outcome } = open();
    client.receive(`{"type":"unheard_of","session":"s"}`);
    await settle();
    expect(sink.faults).toEqual([]);
    expect(outcome()).toBeUndefined();
  });

  it("loses the command it names", async () => {
    const { client, send } = begin();
    const command = send();
    client.receive(`{"type":"ack","id":"c1","pending":"soon"}`);
    await settle();
    expect(command.outcome()).toMatchObject({ kind: "lost", code: "connection_lost" });
  });

  it.each(["", "{", "7", "[]", `{"type":"frames"}`, `{"type":"frames","session":"c"}`])(
    "is reported to every stream if it names none: %s",
    async (text) => {
      const { client, open } = begin();
      const a = open();
      const b = open({ session: "b" });
      client.receive(text);
      await settle();
      for (const { sink, outcome } of [a, b]) {
        expect(sink.faults).toEqual([expect.stringMatching(/^invalid_control: /)]);
        expect(outcome()).toBeUndefined();
      }
    },
  );

  const unnamed: DownFrame = { type: "refusal", code: "invalid_control", message: "not JSON" };

  it("reported by the server without an ID goes to the unsubscribed streams", async () => {
    const { client, open, say, send } = begin();
    const a = open();
    const b = open({ session: "b" });
    b.flow();
    const command = send();
    say(unnamed);
    await settle();
    expect(a.sink.faults).toEqual(["invalid_control: The server could not read a frame: not JSON"]);
    expect(a.outcome()).toBeUndefined();
    expect(b.sink.faults).toEqual([]);
    expect(command.outcome()).toBeUndefined();
    client.close();
  });

  it("reported by the server refuses the command if it can only be that one", async () => {
    const { open, say, send } = begin();
    const a = open();
    a.flow();
    const command = send();
    say(unnamed);
    await settle();
    expect(command.outcome()).toEqual({ kind: "refused", code: "invalid_control", message: "not JSON" });
    expect(a.sink.faults).toEqual([]);
    const [one, two] = [send({ id: "1" }), send({ id: "2" })];
    say(unnamed);
    await settle();
    expect([one.outcome(), two.outcome()]).toEqual([undefined, undefined]);
    say({ type: "ack", id: "1" });
    say({ type: "ack", id: "2" });
  });

  it("loses all commands and repeats unsubscribes, if it may have been any response", async () => {
    const { client, open, say, send, sent } = begin();
    const stop = new AbortController();
    open({}, stop.signal).flow();
    stop.abort();
    const command = send();
    const next = open({ from: { after: "x" } });
    client.receive(`{"type":"ack","id":`);
    await settle();
    expect(command.outcome()).toMatchObject({ kind: "lost" });
    expect(next.sink.faults).toHaveLength(1);
    expect(sent.at(-1)).toMatchObject({ type: "unsubscribe", session: "a", dialect: "loom" });
    say({ type: "refusal", id: (sent.at(-1) as { id: string }).id, code: "not_subscribed", message: "" });
    expect(sent.at(-1)).toMatchObject({ type: "subscribe", after: "x" });
  });

  it("that is too long is reported to the streams of the session in its head", () => {
    const { client, open } = begin();
    const a = open();
    const b = open({ session: 'b"' });
    client.fault("line_too_long", "long", `{"type":"frames","session":"b\\"","dialect":"loom","frames":["`);
    expect([a.sink.faults, b.sink.faults]).toEqual([[], ["line_too_long: long"]]);
    for (const head of [`{"type":"frames","session":"unknown"`, `{"type":"frames","session":"b`, "x", ""])
      client.fault("line_too_long", "long", head);
    expect([a.sink.faults.length, b.sink.faults.length]).toEqual([4, 5]);
  });

  it("never throws", () => {
    const type = fc.constantFrom("hello", "subscribed", "frames", "end", "ack", "refusal", "heartbeat", "pong");
    const frame = fc.oneof(
      fc.string(),
      fc.json(),
      fc
        .tuple(
          type,
          fc.dictionary(fc.constantFrom("id", "session", "frames", "cursor", "code", "message"), fc.jsonValue()),
        )
        .map(([type, fields]) => JSON.stringify({ ...fields, type })),
    );
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 20 }), (texts) => {
        const { client, open } = begin();
        open().flow();
        for (const text of texts) client.receive(text);
        client.close();
      }),
    );
  });
});

describe("commands", () => {
  it("are done, accepted or refused by their own response", async () => {
    const { send, say, sent } = begin();
    const [one, two, three] = [send({ id: "1" }), send({ id: "2" }), send({ id: "3" })];
    expect(sent[0]).toEqual({ type: "cancel", id: "1", session: "a", run_id: "r1" });
    say({ type: "ack", id: "3", pending: true });
    say({ type: "ack", id: "1", result: { event_id: 4 } });
    say({ type: "refusal", id: "2", code: "unknown_run", message: "no such run" });
    say({ type: "ack", id: "unasked" });
    await settle();
    expect(one.outcome()).toEqual({ kind: "done", result: { event_id: 4 } });
    expect(two.outcome()).toEqual({ kind: "refused", code: "unknown_run", message: "no such run" });
    expect(three.outcome()).toEqual({ kind: "accepted" });
  });

  it("sent twice with one ID are answered twice", async () => {
    const { send, say } = begin();
    const [one, two] = [send(), send()];
    say({ type: "ack", id: "c1" });
    await settle();
    expect([one.outcome(), two.outcome()]).toEqual([{ kind: "done" }, { kind: "done" }]);
  });

  it("are lost on timeout or abort", async () => {
    const { send, client } = begin();
    const slow = send();
    const stop = new AbortController();
    const unwanted = send({ id: "2" }, stop.signal);
    stop.abort();
    await vi.advanceTimersByTimeAsync(1000);
    expect(slow.outcome()).toMatchObject({ kind: "lost", code: "command_timeout" });
    expect(unwanted.outcome()).toMatchObject({ kind: "lost", code: "connection_lost" });
    expect(await client.send(COMMAND, AbortSignal.abort())).toMatchObject({ kind: "lost" });
    expect(client.isIdle).toBe(true);
  });

  it("are refused before sending when too long or not serializable", async () => {
    const { client, sent } = begin();
    const long: ClientCommand = { type: "run", id: "1", session: "a", message: "x".repeat(1000) };
    expect(await client.send(long, NEVER)).toMatchObject({ kind: "refused", code: "invalid_command" });
    const big = { ...COMMAND, type: "approve", call_id: "c", decision: "approved", arguments: { a: 1n } };
    const outcome = await client.send(big as unknown as ClientCommand, NEVER);
    expect(outcome).toMatchObject({ kind: "refused", code: "invalid_command" });
    expect(sent).toEqual([]);
    expect(client.isIdle).toBe(true);
  });

  it("never affect a stream, whatever their IDs", async () => {
    const { open, send, say } = begin();
    const a = open();
    a.flow();
    for (const id of ["stream-1", "1", "", "subscribe"]) {
      const command = send({ id });
      say({ type: "refusal", id, code: "run_live", message: "" });
      await settle();
      expect(command.outcome()).toMatchObject({ kind: "refused", code: "run_live" });
    }
    expect(a.outcome()).toBeUndefined();
    expect(begin().open().id).not.toBe(a.id);
  });

  it("are limited in number", async () => {
    const { client, send } = begin();
    for (let count = 0; count < 1000; count++) send({ id: String(count) });
    expect(await client.send(COMMAND, NEVER)).toMatchObject({ kind: "refused", code: "queue_full" });
    client.linkLost("gone");
  });
});

describe("the link", () => {
  it("ends everything when it is lost, and all later requests", async () => {
    const { client, open, send, idle } = begin();
    const a = open();
    const b = open({ session: "b" });
    const command = send();
    client.linkLost("the socket broke");
    await settle();
    for (const { outcome } of [a, b]) expect(outcome()).toEqual({ kind: "lost", message: "the socket broke" });
    expect(command.outcome()).toEqual({ kind: "lost", code: "connection_lost", message: "the socket broke" });
    expect(await client.open(REQUEST, new RecordingSink(), NEVER)).toMatchObject({ kind: "lost" });
    expect(await client.send(COMMAND, NEVER)).toMatchObject({ kind: "lost" });
    expect(idle()).toBe(1);
  });

  it("aborts everything when it is closed", async () => {
    const { client, open, send } = begin();
    const a = open();
    const command = send();
    client.close();
    await settle();
    expect(a.outcome()).toEqual({ kind: "aborted" });
    expect(command.outcome()).toMatchObject({ kind: "lost" });
  });

  it("is unusable if the server uses a later version", async () => {
    const { open, say, client } = begin();
    const a = open();
    say({ type: "hello", version: CONTROL_VERSION, heartbeat_ms: 0 });
    await settle();
    expect(a.outcome()).toBeUndefined();
    say({ type: "hello", version: CONTROL_VERSION + 1, heartbeat_ms: 0 });
    await settle();
    expect(a.outcome()).toMatchObject({ kind: "refused", code: "unsupported" });
    expect(await client.open(REQUEST, new RecordingSink(), NEVER)).toMatchObject({
      kind: "refused",
      code: "unsupported",
    });
  });

  it("is idle when no stream is open and no command is pending", async () => {
    const { client, open, send, say, idle } = begin();
    const stop = new AbortController();
    open({}, stop.signal);
    send();
    expect(client.isIdle).toBe(false);
    stop.abort();
    expect(idle()).toBe(0);
    say({ type: "ack", id: "c1" });
    expect(client.isIdle).toBe(true);
    expect(idle()).toBe(1);
  });
});
