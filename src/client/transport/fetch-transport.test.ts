import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { encodeNdjson, encodeSse } from "../../framing/index.ts";
import { encodeSseComment } from "../../framing/sse.ts";
import { RecordingSink } from "../../../test/client/recording-sink.ts";
import type { ErrorCode } from "../../protocol/index.ts";
import type { ClientCommand, StreamRequest } from "../transport.ts";
import { createFetchTransport, type FetchTransportOptions } from "./fetch-transport.ts";

const REQUEST: StreamRequest = { session: "s", dialect: "loom", from: {}, follow: false };
const COMMAND: ClientCommand = { type: "cancel", id: "c1", session: "s", run_id: "r1" };
const NEVER = new AbortController().signal;
const TYPES = { sse: "text/event-stream", ndjson: "application/x-ndjson" };

/** A body in these pieces; an error at the end breaks the connection. */
function bodyOf(pieces: readonly (string | Uint8Array | Error)[], onCancel?: () => void): ReadableStream<Uint8Array> {
  const left = [...pieces];
  return new ReadableStream({
    pull(controller) {
      const piece = left.shift();
      if (piece === undefined) controller.close();
      else if (piece instanceof Error) controller.error(piece);
      else controller.enqueue(typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
    },
    cancel: () => onCancel?.(),
  });
}

function answer(framing: "sse" | "ndjson", ...pieces: (string | Uint8Array | Error)[]): Response {
  return new Response(bodyOf(pieces), { headers: { "content-type": TYPES[framing] } });
}

/** Opens a stream once, against a server with this response. */
async function open(
  response: Response | Error,
  options: Partial<FetchTransportOptions> = {},
  request: Partial<StreamRequest> = {},
) {
  const sink = new RecordingSink();
  const requests: Request[] = [];
  const fetch = async (asked: Request): Promise<Response> => {
    requests.push(asked);
    if (response instanceof Error) throw response;
    return response;
  };
  const transport = createFetchTransport({ url: "http://host/base", fetch, ...options });
  const outcome = await transport.open({ ...REQUEST, ...request }, sink, NEVER);
  return { outcome, sink, request: requests[0]! };
}

describe("a stream request", () => {
  it("has the session, position, dialect and limit", async () => {
    const from = { after: "1.pX3kQ9_a.12.0", skip: 3 };
    const asked = { session: "a/b c?ü", dialect: "stream-event", from, follow: true, limit: 7 } as const;
    const { request } = await open(answer("sse"), { url: "http://host/base//" }, asked);
    expect(request.url).toBe(
      "http://host/base/v1/sessions/a%2Fb%20c%3F%C3%BC/events?dialect=stream-event&strict=0&after=1.pX3kQ9_a.12.0&skip=3&follow=1&limit=7",
    );
    expect(request.headers.get("accept")).toBe("text/event-stream");
    expect(request.cache).toBe("no-store");
  });

  it("identifies the session of a record number", async () => {
    const { request } = await open(answer("sse"), {}, { from: { after: "5", of: "1.pX3kQ9_a.12.0" } });
    expect(new URL(request.url).searchParams.get("of")).toBe("1.pX3kQ9_a.12.0");
  });

  it("omits defaults", async () => {
    const { request } = await open(answer("ndjson"), { framing: "ndjson" }, { from: { after: "5", skip: 0 } });
    expect(request.url).toBe("http://host/base/v1/sessions/s/events?dialect=loom&strict=0&after=5");
    expect(request.headers.get("accept")).toBe("application/x-ndjson");
  });

  it("calls for headers each time, and passes credentials", async () => {
    let count = 0;
    const headers = async (): Promise<HeadersInit> => ({ authorization: `token ${++count}`, accept: "text/html" });
    const requests: Request[] = [];
    const fetch = async (request: Request): Promise<Response> => {
      requests.push(request);
      return answer("sse");
    };
    const transport = createFetchTransport({ url: "http://host", fetch, headers, credentials: "include" });
    await transport.open(REQUEST, new RecordingSink(), NEVER);
    await transport.open(REQUEST, new RecordingSink(), NEVER);
    expect(requests.map((request) => request.headers.get("authorization"))).toEqual(["token 1", "token 2"]);
    expect(requests[0]!.headers.get("accept")).toBe("text/event-stream");
    expect(requests[0]!.credentials).toBe("include");
  });

  it("is lost if the headers are unavailable", async () => {
    const headers = async (): Promise<HeadersInit> => {
      throw new Error("no token");
    };
    expect((await open(answer("sse"), { headers })).outcome).toEqual({ kind: "lost", message: "no token" });
  });

  it.each([".", "..", "", "\ud800"])("refuses the session name %j, which a URL cannot contain", async (session) => {
    const { outcome, request } = await open(answer("sse"), {}, { session });
    expect(outcome).toMatchObject({ kind: "refused", code: "unsupported" });
    expect(request).toBeUndefined();
  });

  it("refuses an invalid URL", async () => {
    const { outcome } = await open(answer("sse"), { url: "http://[" });
    expect(outcome).toMatchObject({ kind: "refused", code: "connection_refused" });
  });

  it("uses the current global fetch", async () => {
    const fetch = vi.fn(async (_request: Request) => answer("sse"));
    vi.stubGlobal("fetch", fetch);
    const transport = createFetchTransport({ url: "http://host" });
    expect(await transport.open(REQUEST, new RecordingSink(), NEVER)).toEqual({ kind: "ended" });
    vi.unstubAllGlobals();
    expect(fetch).toHaveBeenCalledOnce();
  });

  it("throws at once for an invalid limit", () => {
    expect(() => createFetchTransport({ url: "http://host", maxLineBytes: 0 })).toThrow(TypeError);
  });
});

describe("a response", () => {
  it("delivers server-sent events, each with its cursor", async () => {
    const pieces = [encodeSse({ data: "{}", id: "1" }), encodeSseComment("hi"), encodeSse({ data: "[1]", id: "2" })];
    const { outcome, sink } = await open(answer("sse", ...pieces));
    expect(outcome).toEqual({ kind: "ended" });
    expect(sink.frames).toEqual([
      ["{}", "1"],
      ["[1]", "2"],
    ]);
    expect(sink.signs).toBe(4);
  });

  it("delivers NDJSON lines, also an unterminated last one", async () => {
    const { outcome, sink } = await open(answer("ndjson", '{"a":1}\n\n', ' {"a":2}'), { framing: "ndjson" });
    expect(outcome).toEqual({ kind: "ended" });
    expect(sink.frames).toEqual([
      ['{"a":1}', undefined],
      ['{"a":2}', undefined],
    ]);
  });

  it("takes a space as a sign of life, not as a frame that was cut off", async () => {
    const { outcome, sink } = await open(answer("ndjson", '{"a":1}\n', " ", " ", '{"a":2}\n', " "), {
      framing: "ndjson",
    });
    expect(outcome).toEqual({ kind: "ended" });
    expect(sink.texts).toEqual(['{"a":1}', '{"a":2}']);
    expect(sink.faults).toEqual([]);
    expect(sink.signs).toBe(6);
    const cut = await open(answer("ndjson", '{"a":1}\n', " ", "{"), { framing: "ndjson" });
    expect(cut.outcome).toEqual({ kind: "lost", message: "The stream was cut" });
  });

  it("reports the start cursor before the first frame, if the server sends it", async () => {
    const headers = { "content-type": TYPES.ndjson, "loom-cursor": "1.pX3kQ9_a.0.0" };
    const { sink } = await open(new Response("{}\n", { headers }), { framing: "ndjson" });
    expect(sink.begun).toEqual(["1.pX3kQ9_a.0.0"]);
    expect((await open(answer("ndjson", "{}\n"), { framing: "ndjson" })).sink.begun).toEqual([]);
  });

  const texts = ['{"a":"ü"}', '{"b":[1,{"c":"\\n"}]}', '"text"', '{"d":12}'];
  const wires = {
    sse: new TextEncoder().encode(texts.map((data, index) => encodeSse({ data, id: String(index) })).join("")),
    ndjson: new TextEncoder().encode(texts.map((text) => encodeNdjson(text)).join("")),
  };
  describe.each(["sse", "ndjson"] as const)("cut anywhere, in %s", (framing) => {
    it.each(["politely", "with an error"])("%s, delivers only whole frames", async (how) => {
      const wire = wires[framing];
      for (let at = 0; at <= wire.length; at++) {
        const end = how === "politely" ? [] : [new Error("cut")];
        const { outcome, sink } = await open(answer(framing, wire.slice(0, at), ...end), { framing });
        expect(sink.texts).toEqual(texts.slice(0, sink.frames.length));
        expect(sink.faults).toEqual([]);
        // Between frames a clean end and a cut look the same.
        const isBetween = isWhole(framing, sink.frames.length, new TextDecoder().decode(wire.slice(0, at)));
        if (how === "with an error") expect(outcome).toEqual({ kind: "lost", message: "cut" });
        else if (outcome.kind === "ended") expect(isBetween).toBe(true);
        else expect(outcome).toEqual({ kind: "lost", message: "The stream was cut" });
      }
    });
  });

  /** The wire text of this many frames; for NDJSON also without the last newline. */
  function isWhole(framing: "sse" | "ndjson", count: number, wire: string): boolean {
    const whole = texts.slice(0, count);
    if (framing === "sse") return wire === whole.map((data, index) => encodeSse({ data, id: String(index) })).join("");
    return wire === whole.join("\n") || wire === whole.map((text) => encodeNdjson(text)).join("");
  }

  it("does not take a prefix of a number for a frame", async () => {
    const { outcome, sink } = await open(answer("ndjson", "{}\n12"), { framing: "ndjson" });
    expect(sink.texts).toEqual(["{}"]);
    expect(outcome.kind).toBe("lost");
  });

  it("reports unreadable frames and continues", async () => {
    const bad = Uint8Array.of(0x7b, 0xff, 0x7d, 0x0a);
    const pieces = ["{}\n", bad, `"${"x".repeat(100)}"\n`, "[]\n"];
    const { outcome, sink } = await open(answer("ndjson", ...pieces), { framing: "ndjson", maxLineBytes: 50 });
    expect(sink.texts).toEqual(["{}", "[]"]);
    expect(sink.faults).toEqual(["invalid_utf8: not valid UTF-8", "line_too_long: longer than 50 bytes"]);
    expect(outcome).toEqual({ kind: "ended" });
  });

  it("never rejects, whatever bytes arrive", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 30 })), fc.boolean(), async (pieces, isSse) => {
        const framing = isSse ? "sse" : "ndjson";
        const { outcome } = await open(answer(framing, ...pieces), { framing });
        expect(["ended", "lost"]).toContain(outcome.kind);
      }),
      { numRuns: 100 },
    );
  });
});

describe("an error response", () => {
  const problem = (status: number, body: object | string, headers: Record<string, string> = {}): Response =>
    new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers });

  it("is refused with the server's code and message", async () => {
    const details = { first_event_id: 7 };
    const { outcome } = await open(problem(410, { code: "evicted", message: "gone", details }));
    expect(outcome).toEqual({ kind: "refused", code: "evicted", message: "gone", details });
  });

  const LONG = "x".repeat(2_000_000);
  it.each<[status: number, body: object | string, message: string]>([
    [404, "<html>", "The server responded with 404"],
    [401, { code: "no_such_code", message: "log in" }, "log in"],
    [403, { code: "toString", message: 7, details: "x" }, "The server responded with 403"],
    [400, [], "The server responded with 400"],
    [302, "", "The server responded with 302"],
    [418, LONG, "The server responded with 418"],
  ])("is refused with a general code if it has no known one: %s", async (status, body, message) => {
    const { outcome } = await open(problem(status, body));
    expect(outcome).toMatchObject({ kind: "refused", code: "connection_refused", message });
    // Foreign, unless there is a code, even an unknown one.
    expect("isForeign" in outcome).toBe(typeof body === "string" || !("code" in body));
  });

  it.each([408, 425, 429, 500, 502, 503, 504])("is lost if the status is temporary: %s", async (status) => {
    const { outcome } = await open(problem(status, { code: "store_busy", message: "later" }));
    expect(outcome).toEqual({ kind: "lost", message: "later" });
  });

  it("passes on when to retry", async () => {
    expect((await open(problem(503, "", { "retry-after": "7" }))).outcome).toMatchObject({ retryAfterMs: 7000 });
    const date = new Date(Date.now() + 60_000).toUTCString();
    const { outcome } = await open(problem(429, "", { "retry-after": date }));
    expect(outcome.kind === "lost" && outcome.retryAfterMs).toBeGreaterThan(58_000);
    const past = await open(problem(429, "", { "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" }));
    expect(past.outcome).toMatchObject({ retryAfterMs: 0 });
    expect((await open(problem(503, "", { "retry-after": "soon" }))).outcome).not.toHaveProperty("retryAfterMs");
  });

  it("is refused if it has another content type, such as a proxy's page", async () => {
    const cancelled = vi.fn();
    const body = bodyOf(["<html>"], cancelled);
    const { outcome, sink } = await open(
      new Response(body, { headers: { "content-type": "text/html; charset=utf-8" } }),
    );
    expect(outcome).toEqual({
      kind: "refused",
      code: "connection_refused",
      message: "The server responded with text/html; expected text/event-stream",
      isForeign: true,
    });
    expect(cancelled).toHaveBeenCalled();
    expect(sink.signs).toBe(0);
  });

  it("without a body is a normal end", async () => {
    expect((await open(new Response(null, { status: 204 }))).outcome).toEqual({ kind: "ended" });
  });

  it("is lost if it was cut off, because the reason is unknown", async () => {
    const body = bodyOf(['{"code":"unknown_se', new Error("reset")]);
    const { outcome } = await open(new Response(body, { status: 404, statusText: "Not Found" }));
    expect(outcome).toEqual({
      kind: "lost",
      message: "The server responded with 404 Not Found, and the response was cut off",
    });
    const fetch = async () => new Response(bodyOf(['{"type":"ref', new Error("reset")]), { status: 404 });
    const transport = createFetchTransport({ url: "http://host", fetch });
    expect(await transport.send(COMMAND, NEVER)).toMatchObject({ kind: "lost" });
  });

  it("is lost if none arrives", async () => {
    expect((await open(new TypeError("fetch failed"))).outcome).toEqual({ kind: "lost", message: "fetch failed" });
  });
});

describe("abort", () => {
  it("ends a stream whose server does not react, and cancels its body", async () => {
    const cancelled = vi.fn();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode("{}\n")),
      cancel: cancelled,
    });
    const response = new Response(body, { headers: { "content-type": TYPES.ndjson } });
    const stop = new AbortController();
    const sink = new RecordingSink();
    const transport = createFetchTransport({ url: "http://host", framing: "ndjson", fetch: async () => response });
    const outcome = transport.open(REQUEST, sink, stop.signal);
    await vi.waitFor(() => expect(sink.frames).toHaveLength(1));
    stop.abort();
    expect(await outcome).toEqual({ kind: "aborted" });
    expect(cancelled).toHaveBeenCalled();
  });

  it("does not wait for a response, and discards a late one", async () => {
    const cancelled = vi.fn();
    const { promise, resolve } = Promise.withResolvers<Response>();
    const stop = new AbortController();
    const sink = new RecordingSink();
    const transport = createFetchTransport({ url: "http://host", framing: "ndjson", fetch: () => promise });
    const outcome = transport.open(REQUEST, sink, stop.signal);
    stop.abort();
    expect(await outcome).toEqual({ kind: "aborted" });
    resolve(new Response(bodyOf(["{}\n"], cancelled), { headers: { "content-type": TYPES.ndjson } }));
    await vi.waitFor(() => expect(cancelled).toHaveBeenCalled());
    expect(sink).toMatchObject({ frames: [], signs: 0 });
  });

  it("within a chunk takes effect at once", async () => {
    const stop = new AbortController();
    const sink = new RecordingSink();
    sink.onFrame = (text) => {
      if (text === "2") stop.abort();
    };
    const transport = createFetchTransport({
      url: "http://host",
      framing: "ndjson",
      fetch: async () => answer("ndjson", "1\n2\n3\n"),
    });
    expect(await transport.open(REQUEST, sink, stop.signal)).toEqual({ kind: "aborted" });
    expect(sink.texts).toEqual(["1", "2"]);
  });
});

describe("commands", () => {
  async function send(response: Response | Error, options: Partial<FetchTransportOptions> = {}, command = COMMAND) {
    const requests: Request[] = [];
    const fetch = async (request: Request): Promise<Response> => {
      requests.push(request);
      if (response instanceof Error) throw response;
      return response;
    };
    const transport = createFetchTransport({ url: "http://host", fetch, ...options });
    return { outcome: await transport.send(command, NEVER), request: requests[0] as Request };
  }
  const json = (body: object, status = 200): Response => Response.json(body, { status });

  it("are posted as control frames", async () => {
    const { request } = await send(json({ type: "ack", id: "c1" }));
    expect(request.method).toBe("POST");
    expect(request.url).toBe("http://host/v1/sessions/s/commands");
    expect(request.headers.get("content-type")).toBe("application/json");
    expect(await request.json()).toEqual(COMMAND);
  });

  it("are done, accepted or refused as the response says", async () => {
    const result = { event_id: 3 };
    expect((await send(json({ type: "ack", id: "c1", result }))).outcome).toEqual({ kind: "done", result });
    expect((await send(json({ type: "ack", id: "c1" }))).outcome).toEqual({ kind: "done" });
    expect((await send(json({ type: "ack", id: "c1", pending: true }, 202))).outcome).toEqual({ kind: "accepted" });
    const refusal = { type: "refusal", id: "c1", code: "unknown_run", message: "no such run" };
    const refused = { kind: "refused", code: "unknown_run" satisfies ErrorCode, message: "no such run" };
    expect((await send(json(refusal, 404))).outcome).toEqual(refused);
    expect((await send(json(refusal, 503))).outcome).toEqual(refused);
    const problems = { invalid_command: 400, unauthorized: 401, spend_exceeded: 429, internal_error: 500 };
    for (const [code, status] of Object.entries(problems)) {
      const problem = { type: `urn:loom:problem:${code}`, title: "No", status, code, detail: "no", id: "x" };
      const { outcome } = await send(json(problem, status));
      expect(outcome).toEqual({ kind: "refused", code, message: "no" });
    }
  });

  it.each([
    ["a response without a result", json({ type: "pong" })],
    ["a page", new Response("<html>")],
    ["a busy server", json({ code: "store_busy", message: "" }, 503)],
    ["no response", new TypeError("fetch failed")],
  ])("are lost with %s", async (_what, response) => {
    expect((await send(response)).outcome).toMatchObject({ kind: "lost", code: "connection_lost" });
  });

  it("are refused before sending when too long or not serializable", async () => {
    const invalid = { kind: "refused", code: "invalid_command" };
    const long: ClientCommand = { type: "run", id: "c", session: "s", message: "x".repeat(70_000) };
    const big = { ...COMMAND, reason: 1n } as unknown as ClientCommand;
    for (const command of [long, big]) {
      const { outcome, request } = await send(json({ type: "ack", id: "c" }), {}, command);
      expect(outcome).toMatchObject(invalid);
      expect(request).toBeUndefined();
    }
    const { outcome } = await send(json({ type: "ack", id: "c" }), { maxCommandLength: 100_000 }, long);
    expect(outcome).toEqual({ kind: "done" });
  });

  it("pass on when to retry if they are lost", async () => {
    const busy = new Response("", { status: 429, headers: { "retry-after": "3" } });
    expect((await send(busy)).outcome).toMatchObject({ kind: "lost", retryAfterMs: 3000 });
  });

  it("are lost on timeout or abort", async () => {
    const fetch = vi.fn((): Promise<Response> => new Promise(() => undefined));
    const transport = createFetchTransport({ url: "http://host", fetch, commandTimeoutMs: 5 });
    expect(await transport.send(COMMAND, NEVER)).toMatchObject({ kind: "lost", code: "command_timeout" });
    expect(await transport.send(COMMAND, AbortSignal.abort())).toMatchObject({ kind: "lost", code: "connection_lost" });
    expect(fetch).toHaveBeenCalledOnce();
    const outcome = transport.send(COMMAND, NEVER);
    transport.close();
    expect(await outcome).toMatchObject({ kind: "lost", code: "connection_lost" });
    expect(await transport.send(COMMAND, NEVER)).toMatchObject({ kind: "refused" });
  });
});
