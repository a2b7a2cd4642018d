import { describe, expect, it, onTestFinished, vi } from "vitest";
import { RecordingSink } from "../../../test/client/recording-sink.ts";
import type { StreamOutcome } from "../transport.ts";
import { fetchTicket } from "./fetch-ticket.ts";
import { createFetchTransport } from "./fetch-transport.ts";
import { createWebSocketTransport, type SocketLike } from "./web-socket-transport.ts";

const NEVER = new AbortController().signal;
const OK = { status: 201, body: { ticket: "loom_tkt_x", expires_at: 1 } };

interface FakeResponse {
  readonly status: number;
  readonly body: unknown;
}

/** A server that gives these responses in order, and repeats the last one. */
function serve(...answers: readonly [FakeResponse, ...FakeResponse[]]) {
  const requests: Request[] = [];
  const fetch = (request: Request): Promise<Response> => {
    const { status, body } = answers[Math.min(requests.push(request), answers.length) - 1]!;
    return Promise.resolve(Response.json(body, { status }));
  };
  return { requests, fetch };
}

const refuse = (status: number, code: string): FakeResponse => ({
  status,
  body: { code, detail: "no", message: "no" },
});

describe("a ticket", () => {
  it.each([
    ["ws://host/v1/ws", "http://host/v1/auth/tickets", "ws://host/v1/ws?ticket=loom_tkt_x"],
    ["wss://host:8/a/v1/ws?b=c", "https://host:8/a/v1/auth/tickets", "wss://host:8/a/v1/ws?b=c&ticket=loom_tkt_x"],
  ])("for %s is requested next to the socket", async (socket, endpoint, url) => {
    const { fetch, requests } = serve(OK);
    const token = async (): Promise<string> => "loom_tok_y";
    expect(await fetchTicket(socket, { token, fetch, signal: NEVER })).toEqual({ url });
    const [request] = requests;
    expect(request).toMatchObject({ url: endpoint, method: "POST", redirect: "error" });
    expect(request!.headers.get("authorization")).toBe("Bearer loom_tok_y");
    expect(await request!.json()).toEqual({});
  });

  it.each<[string, FakeResponse, object]>([
    ["the token is invalid", refuse(401, "unauthorized"), { kind: "refused", code: "unauthorized" }],
    ["the token lacks permission", refuse(403, "forbidden"), { kind: "refused", code: "forbidden" }],
    [
      "the endpoint is missing",
      { status: 404, body: "" },
      { kind: "refused", code: "connection_refused", isForeign: true },
    ],
    ["Authentication is off", refuse(400, "unsupported"), { url: "ws://host/v1/ws" }],
    ["there were too many requests", refuse(429, "rate_limited"), { kind: "lost" }],
    ["the server is overloaded", refuse(503, "store_busy"), { kind: "lost" }],
    ["the response contains none", { status: 201, body: {} }, { kind: "lost" }],
  ])("returns the right outcome if %s", async (_what, answer, outcome) => {
    const { fetch } = serve(answer);
    expect(await fetchTicket("ws://host/v1/ws", { token: "t", fetch, signal: NEVER })).toMatchObject(outcome);
  });

  it.each([
    ["the server is unreachable", { fetch: () => Promise.reject(new TypeError("offline")), token: "t" }, "offline"],
    [
      "the token is unavailable",
      { fetch: serve(OK).fetch, token: () => Promise.reject(new Error("locked")) },
      "locked",
    ],
  ])("is lost if %s", async (_what, options, message) => {
    const found = await fetchTicket("ws://host/v1/ws", { ...options, signal: NEVER });
    expect(found).toEqual({ kind: "lost", message });
  });
});

class FakeSocket implements SocketLike {
  readonly listeners = new Map<string, (event: never) => void>();
  readonly address: string;
  constructor(address: string) {
    this.address = address;
    sockets.push(this);
  }
  addEventListener(type: string, listener: (event: never) => void): void {
    this.listeners.set(type, listener);
  }
  send(): void {}
  close(): void {}
  end(code: number, reason: string): void {
    this.listeners.get("close")?.({ code, reason } as never);
  }
}
let sockets: FakeSocket[] = [];

describe("a socket with a token", () => {
  const begin = (token: string | undefined, answers: readonly [FakeResponse, ...FakeResponse[]]) => {
    sockets = [];
    const { fetch, requests } = serve(...answers);
    const transport = createWebSocketTransport({
      url: "ws://host/v1/ws",
      WebSocket: FakeSocket,
      fetch,
      ...(token !== undefined && { token }),
    });
    const open = (): Promise<StreamOutcome> =>
      transport.open({ session: "a", dialect: "loom", from: {}, follow: true }, new RecordingSink(), NEVER);
    return { transport, open, requests };
  };
  const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

  it("uses a new ticket each time, and fails for good when it gets none", async () => {
    const second = { status: 201, body: { ticket: "loom_tkt_z" } };
    const { transport, open } = begin("loom_tok_y", [OK, second, refuse(401, "unauthorized")]);
    for (const ticket of ["loom_tkt_x", "loom_tkt_z"]) {
      const outcome = open();
      await settle();
      expect(sockets.at(-1)?.address).toBe(`ws://host/v1/ws?ticket=${ticket}`);
      // The token may have changed since, so the next ticket request decides.
      sockets.at(-1)?.end(1008, "unauthorized");
      expect(await outcome).toEqual({ kind: "lost", message: "The socket was closed with code 1008: unauthorized" });
    }
    expect(await open()).toMatchObject({ kind: "refused", code: "unauthorized" });
    const command = { type: "cancel", id: "c1", session: "a", run_id: "r1" } as const;
    expect(await transport.send(command, NEVER)).toMatchObject({ kind: "refused", code: "unauthorized" });
    expect(sockets).toHaveLength(2);
    transport.close();
  });

  it.each([
    ["unauthorized", { kind: "refused", code: "unauthorized" }],
    ["forbidden after=x", { kind: "refused", code: "forbidden" }],
    ["", { kind: "refused", code: "connection_refused" }],
  ])("that is missing is refused on a policy violation: %s", async (reason, expected) => {
    const { transport, open, requests } = begin(undefined, [OK]);
    const outcome = open();
    await settle();
    sockets[0]?.end(1008, reason);
    expect(await outcome).toMatchObject(expected);
    expect(requests).toEqual([]);
    transport.close();
  });

  it.each<[string, object | Error, object]>([
    ["not signed in", { mode: "required", signed_in: false, shared_session_ids: [] }, { code: "unauthorized" }],
    ["signed in", { mode: "required", signed_in: true, shared_session_ids: [] }, { kind: "lost" }],
    ["share link opened", { mode: "required", signed_in: false, shared_session_ids: ["a"] }, { kind: "lost" }],
    ["authentication off", { mode: "open", signed_in: false, shared_session_ids: [] }, { kind: "lost" }],
    ["response of another server", { hello: 1 }, { kind: "lost" }],
    ["unreachable", new TypeError("offline"), { kind: "lost" }],
  ])("checks the sign-in of a page with a cookie when it does not open: %s", async (_what, body, expected) => {
    sockets = [];
    const asked: string[] = [];
    const fetch = async ({ url, method }: Request): Promise<Response> => {
      asked.push(`${method} ${url}`);
      if (body instanceof Error) throw body;
      if (method === "OPTIONS") return new Response(null, { status: 204 });
      return Response.json(body);
    };
    const options = { url: "ws://host/v1/ws", WebSocket: FakeSocket, usesCookie: true, fetch };
    const transport = createWebSocketTransport(options);
    const outcome = transport.open(
      { session: "a", dialect: "loom", from: {}, follow: true },
      new RecordingSink(),
      NEVER,
    );
    await settle();
    sockets[0]?.end(1006, "");
    expect(await outcome).toMatchObject(expected);
    const get = body instanceof Error ? [] : ["GET http://host/v1/auth"];
    expect(asked).toEqual(["OPTIONS http://host/v1/auth", ...get]);
    transport.close();
  });

  it("is refused at once with the server's text if the server rejects the page's origin", async () => {
    sockets = [];
    const detail = "Requests from pages of this origin are not allowed; add it to --origins";
    const fetch = async ({ method }: Request): Promise<Response> =>
      method === "OPTIONS" ? Response.json({ code: "forbidden", detail }, { status: 403 }) : Response.json({});
    const transport = createWebSocketTransport({
      url: "ws://host/v1/ws",
      WebSocket: FakeSocket,
      usesCookie: true,
      fetch,
    });
    const outcome = transport.open(
      { session: "a", dialect: "loom", from: {}, follow: true },
      new RecordingSink(),
      NEVER,
    );
    await settle();
    sockets[0]?.end(1006, "");
    expect(await outcome).toMatchObject({ kind: "refused", code: "forbidden", message: detail });
    transport.close();
  });

  describe("of a page", () => {
    const request = { session: "a", dialect: "loom", from: {}, follow: true } as const;
    const details = { settings: ["dev-origins", "origins"] };
    const forbidden = { status: 403, body: { code: "forbidden", detail: "not allowed", details } };
    const required = { status: 200, body: { mode: "required", signed_in: false } };
    const offline = (): Promise<Response> => Promise.reject(new TypeError("Failed to fetch"));
    /** Opens a stream from a page of this origin whose socket does not open. */
    const open = async (origin: string, options: object, url = "ws://host/v1/ws"): Promise<StreamOutcome> => {
      sockets = [];
      vi.stubGlobal("location", new URL(`${origin}/`));
      onTestFinished(() => void vi.unstubAllGlobals());
      const transport = createWebSocketTransport({ url, WebSocket: FakeSocket, ...options });
      onTestFinished(() => transport.close());
      const outcome = transport.open(request, new RecordingSink(), NEVER);
      await settle();
      sockets[0]?.end(1006, "");
      return outcome;
    };

    it.each([
      ["http://localhost:5173", true],
      ["http://host", false],
    ])("names the settings if the server does not answer a page of %s: %s", async (origin, isNamed) => {
      for (const token of [undefined, "t"]) {
        const outcome = await open(origin, token === undefined ? { fetch: offline } : { fetch: offline, token });
        expect(outcome).toMatchObject({ kind: "lost" });
        expect((outcome as { readonly message: string }).message.includes("--dev-origins")).toBe(isNamed);
      }
    });

    it("is refused with the settings if the server rejects its origin", async () => {
      const refusal = { kind: "refused", code: "forbidden", message: "not allowed", details };
      const { fetch, requests } = serve(forbidden);
      expect(await open("http://localhost:5173", { fetch })).toEqual(refusal);
      // A request to another origin has an origin, and needs no preflight.
      expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual(["GET http://host/v1/auth"]);
      // The browser does not send the request for a ticket, because its preflight is refused.
      const ask = (request: Request): Promise<Response> => (request.method === "POST" ? offline() : fetch(request));
      expect(await open("http://localhost:5173", { fetch: ask, token: "t" })).toEqual(refusal);
      const http = createFetchTransport({ url: "http://host", fetch: ask });
      onTestFinished(() => http.close());
      expect(await http.send({ type: "cancel", id: "c", session: "a", run_id: "r" }, NEVER)).toEqual(refusal);
    });

    it("is refused as unauthorized if it needs a token", async () => {
      const { fetch } = serve(required);
      expect(await open("http://localhost:5173", { fetch })).toMatchObject({ kind: "refused", code: "unauthorized" });
      expect(await open("http://host", { fetch })).toMatchObject({ kind: "refused", code: "unauthorized" });
      // Its ticket may have expired.
      expect(await open("http://host", { fetch }, "ws://host/v1/ws?ticket=x")).toMatchObject({ kind: "lost" });
    });
  });

  it.each(["loom_tok_x\nCANARY", "loom_tok_CANARY\u200b", "loom_tok_CANARY…", "loom tok CANARY"])(
    "that is invalid is refused without revealing it: %j",
    async (token) => {
      const { transport, open, requests } = begin(token, [OK]);
      const http = createFetchTransport({ url: "http://host", token });
      const headed = createFetchTransport({ url: "http://host", headers: () => ({ "x-key": `\u200b${token}` }) });
      const asked = { session: "a", dialect: "loom", from: {}, follow: true } as const;
      const outcomes = [
        await open(),
        ...(await Promise.all([http, headed].map((each) => each.open(asked, new RecordingSink(), NEVER)))),
      ];
      expect(outcomes).toMatchObject([
        { kind: "refused", code: "unauthorized" },
        { kind: "refused", code: "unauthorized" },
        { kind: "refused", code: "connection_refused" },
      ]);
      expect([JSON.stringify(outcomes).includes("CANARY"), requests]).toEqual([false, []]);
      for (const each of [transport, http, headed]) each.close();
    },
  );

  it("is trimmed, because files may end with a newline", async () => {
    const { transport, open, requests } = begin("loom_tok_y\n", [refuse(401, "unauthorized")]);
    await open();
    expect(requests.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer loom_tok_y"]);
    transport.close();
  });

  it("sends the current token with every HTTP request", async () => {
    let count = 0;
    const { fetch, requests } = serve(refuse(401, "unauthorized"));
    const transport = createFetchTransport({ url: "http://host", fetch, token: () => `t${++count}` });
    const open = () =>
      transport.open({ session: "a", dialect: "loom", from: {}, follow: true }, new RecordingSink(), NEVER);
    expect(await open()).toMatchObject({ kind: "refused", code: "unauthorized" });
    await open();
    expect(requests.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer t1", "Bearer t2"]);
    transport.close();
  });
});
