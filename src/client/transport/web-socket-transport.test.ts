import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RecordingSink } from "../../../test/client/recording-sink.ts";
import type { ClientCommand, StreamOutcome, StreamRequest } from "../transport.ts";
import { createPairTransport } from "./pair-transport.ts";
import { createWebSocketTransport, type SocketLike, type WebSocketTransportOptions } from "./web-socket-transport.ts";

const NEVER = new AbortController().signal;
const REQUEST: StreamRequest = { session: "a", dialect: "loom", from: {}, follow: true };
const COMMAND: ClientCommand = { type: "cancel", id: "c1", session: "a", run_id: "r1" };

/** A socket; the test acts as its other end. */
class FakeSocket implements SocketLike {
  readonly sent: Record<string, unknown>[] = [];
  isOpen = false;
  isClosed = false;
  readonly address: string;
  readonly protocols: string[] | undefined;
  readonly #listeners = new Map<string, (event: never) => void>();

  constructor(address: string, protocols?: string[]) {
    this.address = address;
    this.protocols = protocols;
    sockets.push(this);
  }
  addEventListener(type: string, listener: (event: never) => void): void {
    this.#listeners.set(type, listener);
  }
  send(text: string): void {
    if (!this.isOpen) throw new Error("still connecting");
    this.sent.push(JSON.parse(text) as Record<string, unknown>);
  }
  close(): void {
    this.isClosed = true;
  }
  accept(): void {
    this.isOpen = true;
    this.#tell("open", {});
  }
  say(data: unknown): void {
    this.#tell("message", {
      data: typeof data === "object" && !(data instanceof ArrayBuffer) ? JSON.stringify(data) : data,
    });
  }
  break(code = 1006, reason = ""): void {
    this.#tell("error", {});
    this.#tell("close", { code, reason });
  }
  #tell(type: string, event: object): void {
    this.#listeners.get(type)?.(event as never);
  }
}

let sockets: FakeSocket[] = [];

function begin(options: Partial<WebSocketTransportOptions> = {}) {
  const transport = createWebSocketTransport({ url: "ws://host/v1/ws", WebSocket: FakeSocket, ...options });
  const open = (request: Partial<StreamRequest> = {}, signal = NEVER) => {
    const sink = new RecordingSink();
    let outcome: StreamOutcome | undefined;
    void transport.open({ ...REQUEST, ...request }, sink, signal).then((ended) => (outcome = ended));
    return { sink, outcome: () => outcome };
  };
  return { transport, open };
}

const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

beforeEach(() => {
  sockets = [];
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a socket", () => {
  it("is opened on demand and shared by everything", async () => {
    const { transport, open } = begin({ protocols: ["loom"] });
    expect(sockets).toEqual([]);
    open();
    open({ session: "b" });
    open({ dialect: "engine" });
    const answer = transport.send(COMMAND, NEVER);
    expect(sockets).toHaveLength(1);
    const [socket] = sockets;
    expect(socket).toMatchObject({ address: "ws://host/v1/ws", protocols: ["loom"], sent: [] });
    socket!.accept();
    expect(socket!.sent.map(({ type }) => type)).toEqual(["subscribe", "subscribe", "subscribe", "cancel"]);
    socket!.say({ type: "ack", id: "c1" });
    expect(await answer).toEqual({ kind: "done" });
    transport.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("carries a stream once: a second one uses another socket, up to a limit", async () => {
    const { transport, open } = begin({ maxLinks: 2 });
    open();
    open();
    expect(sockets).toHaveLength(2);
    const third = open();
    await settle();
    expect(third.outcome()).toMatchObject({ kind: "refused", code: "too_many_subscriptions" });
    transport.close();
  });

  it("that is full is joined by another, up to a limit", async () => {
    const { transport, open } = begin({ maxLinks: 2 });
    const sessions = ["a", "b", "c", "d", "e"];
    const streams = sessions.map((session) => open({ session }));
    const refuseAll = (socket: FakeSocket, from: number): void => {
      const asked = socket.sent.filter(({ type }) => type === "subscribe").slice(from);
      for (const { id } of asked) socket.say({ type: "refusal", id, code: "too_many_subscriptions", message: "" });
    };
    sockets[0]!.accept();
    refuseAll(sockets[0]!, 2);
    await settle();
    expect(sockets).toHaveLength(2);
    sockets[1]!.accept();
    expect(sockets[1]!.sent.map(({ session }) => session)).toEqual(["c", "d", "e"]);
    refuseAll(sockets[1]!, 2);
    await settle();
    expect(streams.map(({ outcome }) => outcome()?.kind)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      "refused",
    ]);
    expect(streams[4]!.outcome()).toMatchObject({ code: "too_many_subscriptions" });
    expect(sockets).toHaveLength(2);
    transport.close();
  });

  it("closes without a handshake if possible", async () => {
    const terminated = vi.fn();
    class AbruptSocket extends FakeSocket {
      terminate = terminated;
    }
    const { transport, open } = begin({ WebSocket: AbruptSocket });
    open();
    sockets[0]!.accept();
    transport.close();
    expect(terminated).toHaveBeenCalledOnce();
    expect(sockets[0]!.isClosed).toBe(false);
  });

  it("gets a new URL each time if the URL is a function", async () => {
    let ticket = 0;
    const { transport, open } = begin({ url: async () => `ws://host/?ticket=${++ticket}` });
    const a = open();
    await settle();
    sockets[0]!.break();
    await settle();
    expect(a.outcome()).toMatchObject({ kind: "lost" });
    open();
    await settle();
    expect(sockets.map(({ address }) => address)).toEqual(["ws://host/?ticket=1", "ws://host/?ticket=2"]);
    transport.close();
  });

  it("that is lost ends every stream and command with the reason", async () => {
    const { transport, open } = begin();
    const [a, b] = [open(), open({ session: "b" })];
    const answer = transport.send(COMMAND, NEVER);
    sockets[0]!.accept();
    sockets[0]!.break(1013, "slow reader");
    const message = "The socket was closed with code 1013: slow reader";
    expect(await answer).toEqual({ kind: "lost", code: "connection_lost", message });
    await settle();
    for (const { outcome } of [a, b]) expect(outcome()).toEqual({ kind: "lost", message });
    open();
    expect(sockets).toHaveLength(2);
    transport.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    ["the URL is unavailable", { url: () => Promise.reject(new Error("no ticket")) }, "no ticket"],
    [
      "the constructor throws",
      {
        WebSocket: class extends FakeSocket {
          constructor(address: string) {
            super(address);
            throw new SyntaxError("no such scheme");
          }
        },
      },
      "no such scheme",
    ],
  ])("is lost when %s", async (_what, options, message) => {
    const { transport, open } = begin(options);
    const { outcome } = open();
    await settle();
    expect(outcome()).toEqual({ kind: "lost", message });
    transport.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is lost when it opens too slowly, or breaks while sending", async () => {
    const { transport, open } = begin({ connectTimeoutMs: 500 });
    const { outcome } = open();
    await vi.advanceTimersByTimeAsync(500);
    expect(outcome()).toEqual({ kind: "lost", message: "The socket did not open within 500 ms" });
    expect(sockets[0]!.isClosed).toBe(true);
    const again = open();
    sockets[1]!.accept();
    sockets[1]!.isOpen = false;
    open({ session: "b" });
    await settle();
    expect(again.outcome()).toEqual({ kind: "lost", message: "still connecting" });
    transport.close();
  });

  it("is closed when idle", async () => {
    const { transport, open } = begin({ idleMs: 1000 });
    const stop = new AbortController();
    open({}, stop.signal);
    sockets[0]!.accept();
    await vi.advanceTimersByTimeAsync(5000);
    expect(sockets[0]!.isClosed).toBe(false);
    stop.abort();
    await vi.advanceTimersByTimeAsync(999);
    expect(sockets[0]!.isClosed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(sockets[0]!.isClosed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
    open();
    expect(sockets).toHaveLength(2);
    transport.close();
  });

  it("is pinged when silent, and lost when it stays silent", async () => {
    const { transport, open } = begin({ heartbeatMs: 1000 });
    const { sink, outcome } = open();
    const [socket] = sockets;
    socket!.accept();
    await vi.advanceTimersByTimeAsync(400);
    socket!.say({ type: "heartbeat" });
    await vi.advanceTimersByTimeAsync(499);
    expect(socket!.sent.map(({ type }) => type)).toEqual(["subscribe"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(socket!.sent.at(-1)).toEqual({ type: "ping" });
    socket!.say({ type: "pong" });
    expect(sink.signs).toBe(0); // The stream is not subscribed yet.
    await vi.advanceTimersByTimeAsync(999);
    expect(outcome()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    expect(outcome()).toEqual({ kind: "lost", message: "The server was silent for 1000 ms" });
    expect(socket!.isClosed).toBe(true);
    transport.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is lost when the device goes offline, with its streams and commands", async () => {
    const page = new EventTarget();
    const [added, removed] = [vi.fn(page.addEventListener.bind(page)), vi.fn(page.removeEventListener.bind(page))];
    vi.stubGlobal("addEventListener", added);
    vi.stubGlobal("removeEventListener", removed);
    const { transport, open } = begin();
    const { outcome } = open();
    sockets[0]!.accept();
    const answer = transport.send(COMMAND, NEVER);
    page.dispatchEvent(new Event("offline"));
    expect(await answer).toMatchObject({ kind: "lost" });
    await settle();
    expect(outcome()).toEqual({ kind: "lost", message: "The device went offline" });
    open();
    expect(sockets).toHaveLength(2);
    transport.close();
    expect(removed.mock.calls).toEqual(added.mock.calls);
    vi.unstubAllGlobals();
  });

  it("reports unreadable messages and continues", async () => {
    const { transport, open } = begin({ maxFrameBytes: 90 });
    const { sink, outcome } = open();
    sockets[0]!.accept();
    sockets[0]!.say(new ArrayBuffer(3));
    sockets[0]!.say("x".repeat(91));
    sockets[0]!.say("ü".repeat(46));
    sockets[0]!.say({ type: "heartbeat" });
    await settle();
    expect(sink.faults).toEqual([
      "invalid_control: Received a message that is not text",
      "line_too_long: The message is longer than 90 bytes",
      "line_too_long: The message is longer than 90 bytes",
    ]);
    expect(outcome()).toBeUndefined();
    transport.close();
  });

  it("is closed with the transport, and none is opened afterwards", async () => {
    const { transport, open } = begin();
    const { outcome } = open();
    sockets[0]!.accept();
    transport.close();
    transport.close();
    await settle();
    expect(outcome()).toEqual({ kind: "aborted" });
    expect(sockets[0]!.isClosed).toBe(true);
    sockets[0]!.say({ type: "heartbeat" });
    sockets[0]!.break();
    const late = open();
    await settle();
    expect(late.outcome()).toMatchObject({ kind: "refused", code: "connection_refused" });
    expect(await transport.send(COMMAND, NEVER)).toMatchObject({ kind: "refused" });
    expect(sockets).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is the global WebSocket by default", () => {
    vi.stubGlobal("WebSocket", FakeSocket);
    const transport = createWebSocketTransport({ url: "ws://host" });
    void transport.open(REQUEST, new RecordingSink(), NEVER);
    expect(sockets).toHaveLength(1);
    transport.close();
    vi.unstubAllGlobals();
  });
});

describe("a pair", () => {
  it("is lost when the other end is unavailable", async () => {
    const transport = createPairTransport(() => {
      throw new Error("unavailable");
    });
    const outcome = await transport.open(REQUEST, new RecordingSink(), NEVER);
    expect(outcome).toEqual({ kind: "lost", message: "unavailable" });
    expect(await transport.send(COMMAND, NEVER)).toMatchObject({ kind: "lost", message: "unavailable" });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is lost when the other end closes", async () => {
    let gone: ((message: string) => void) | undefined;
    const transport = createPairTransport((_receive, lost) => {
      gone = lost;
      return { send: () => undefined, close: () => undefined };
    });
    const outcome = transport.open(REQUEST, new RecordingSink(), NEVER);
    gone?.("closed");
    expect(await outcome).toEqual({ kind: "lost", message: "closed" });
    transport.close();
  });
});
