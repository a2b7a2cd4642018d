/**
 * Hostile JSON at every endpoint that reads JSON, on both sockets and as an ingest: the server accepts or refuses it,
 * and it pollutes no prototype. Also texts that resemble frames: in every field that a user, a model or a tool fills,
 * they stay text in every dialect and framing.
 */
import { once } from "node:events";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect } from "vitest";
import { WebSocket } from "ws";
import { agent } from "../../src/agents/index.ts";
import { DIALECT_NAMES } from "../../src/dialects/index.ts";
import { MemoryLog, openStream } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { OPERATIONS } from "../../src/server/operations.ts";
import { type LoomServer, startLoomServer } from "../../src/server/loom-server.ts";
import { gather } from "../log-sessions.ts";
import { writeHostileSession, writeHostileThoughts } from "../page/hostile-session.ts";
import { ABUSE_SAMPLES } from "../sampling.ts";
import { testSlowThreat, testThreat } from "./test-threat.ts";

const log = new MemoryLog();
/** Errors that the server reported. Hostile input must not cause any. */
const reported: unknown[] = [];
let server: LoomServer;

beforeAll(async () => {
  const model = new ScriptedModel(() => ({ text: "Hello." }));
  server = await startLoomServer({
    log,
    agents: { main: agent({ model, onError: (error) => reported.push(error) }) },
    port: 0,
    limits: { maxBodyBytes: 4 * 1024 * 1024, commandTimeoutMs: 20 },
    runs: { sweepMs: 3_600_000 },
    onError: (error) => reported.push(error),
  });
});
afterAll(() => server.close({ graceMs: 0 }));
afterEach(() => {
  const found: string[] = [];
  for (const key in {}) found.push(key);
  expect(found).toEqual([]);
  expect(({} as { readonly polluted?: unknown }).polluted).toBeUndefined();
  expect(reported.splice(0)).toEqual([]);
});

const deep = (open: string, close: string, depth: number): string => open.repeat(depth) + close.repeat(depth);

/** Hostile values that replace any other value. */
const VALUES: { readonly [name: string]: string } = {
  "100,000 nested arrays": deep("[", "]", 100_000),
  "100,000 nested objects": `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`,
  "unclosed arrays": "[".repeat(100_000),
  "a very long key": `{"${"k".repeat(200_000)}":1}`,
  "very many keys": `{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":0`).join()}}`,
  "very many items": `[${"0,".repeat(100_000)}0]`,
  "a prototype": '{"__proto__":{"polluted":true}}',
  "a nested prototype": '{"a":{"__proto__":{"polluted":true}},"b":[{"__proto__":{"polluted":true}}]}',
  "a constructor": '{"constructor":{"prototype":{"polluted":true}}}',
  "other built-in property names":
    '{"prototype":{"polluted":true},"toString":1,"hasOwnProperty":1,"valueOf":{},"toJSON":1,"then":1}',
  "the same key twice": '{"a":1,"a":{"__proto__":{"polluted":true}}}',
  "a lone high surrogate": '"\\ud800"',
  "lone surrogates in a key and a value": '{"\\udc00":"x\\udfff\\ud800"}',
  "a NUL": '"\\u0000"',
  "a huge number": "1e400",
  "a long number": "9".repeat(100_000),
  "a small number": "-1e-400",
  NaN: "NaN",
  "-Infinity": "-Infinity",
  "a comment": "/* */ 1",
  "an extra brace": "{}}",
  nothing: "",
  "a byte order mark": "\ufeff{}",
  "an invalid date": '"2025-02-30T99:99:99Z"',
  null: "null",
  true: "true",
};

/** Returns all values; in the short run an eighth of them, a different one for each round. */
function pickValues(round: number): readonly (readonly [string, string])[] {
  const all = Object.entries(VALUES);
  return ABUSE_SAMPLES.isWhole ? all : all.filter((_, index) => index % 8 === round % 8);
}

async function send(method: string, path: string, body: string, type = "application/json"): Promise<number> {
  const response = await fetch(`${server.url}${path}`, { method, headers: { "content-type": type }, body });
  const text = await response.text();
  expect(text).not.toMatch(/\.ts:\d+|node:internal|Maximum call stack/);
  return response.status;
}

describe("JSON abuse", () => {
  testThreat("json-abuse", "is accepted or refused at every endpoint", async ({ attempt }) => {
    const endpoints = OPERATIONS.filter(({ body }) => body !== undefined);
    expect(endpoints.length).toBeGreaterThan(8);
    const fields = ["message", "title", "session_id", "input", "arguments", "messages", "metadata", "reason", "type"];
    const tries = endpoints.flatMap(({ method, path }, index) =>
      pickValues(index).flatMap(([name, value]) => {
        // Large values are sent once, not in every field.
        const filled = (value.length > 10_000 ? fields.slice(0, 1) : fields).map(
          (field) => `"${field}":${value || '""'}`,
        );
        const target = path.replaceAll("{id}", "json").replaceAll(/\{\w+\}/g, "x");
        return [value, `{${filled.join()}}`].map((body) => ({ method, target, name, body }));
      }),
    );
    for (const { method, target, name, body } of tries)
      await attempt(`${method} ${target}: ${name}`, async () => {
        expect(await send(method, target, body)).toBeLessThan(500);
        expect(reported.splice(0)).toEqual([]);
      });
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  testThreat("json-abuse", "is accepted or refused where any JSON is allowed", async ({ attempt, sample }) => {
    for (const [name, value] of sample(Object.entries(VALUES), { perKind: 10 }))
      for (const [method, path, body] of [
        ["POST", "/v1/sessions/any/runs", `{"message":"x","input":${value}}`],
        ["POST", "/v1/sessions/any/approvals/c", `{"decision":"approved","arguments":${value}}`],
        [
          "POST",
          "/v1/sessions/any/commands",
          `{"type":"approve","id":"c","session":"any","call_id":"c","decision":"approved","arguments":${value}}`,
        ],
        ["POST", "/api/chat", `{"messages":[{"role":"user","parts":[{"type":"text","text":${value}}]}]}`],
      ] as const)
        await attempt(`${path}: ${name}`, async () => {
          expect(await send(method, path, body)).toBeLessThan(500);
          expect(reported.splice(0)).toEqual([]);
        });
  });

  testSlowThreat("json-abuse", "is accepted or refused by an ingest in every dialect", async ({ attempt, sample }) => {
    let session = 0;
    for (const [index, dialect] of DIALECT_NAMES.entries())
      for (const [name, value] of pickValues(index)) {
        const frames = [
          value,
          `{"type":"custom","value":${value}}`,
          `{"type":"run_start","message":"x","run_id":"r${session}"}\n{"type":"custom","value":${value}}`,
          `{"type":"message_chunk","content":${value},"ext":${value}}`,
        ].map((text) => text.replaceAll("\n\n", "\n"));
        for (const [at, text] of sample(frames.entries(), { perKind: 2 }))
          await attempt(`${dialect}: ${name} ${at}`, async () => {
            const path = `/v1/sessions/in-${++session}/ingest?dialect=${dialect}`;
            expect(await send("POST", path, `${text}\n`, "application/x-ndjson")).toBeLessThan(500);
            expect(reported.splice(0)).toEqual([]);
            // Accepted events can be read back.
            const response = await fetch(`${server.url}/v1/sessions/in-${session}/events`);
            expect([200, 404]).toContain(response.status);
            await response.text();
          });
      }
  });

  testThreat("json-abuse", "is refused on sockets, which stay open", async ({ attempt, sample }) => {
    for (const path of ["/v1/ws", "/agentOS/v1/ws_stream", "/openai/v1/responses"]) {
      const socket = new WebSocket(`${server.url.replace("http", "ws")}${path}`);
      socket.setMaxListeners(0);
      await once(socket, "open");
      for (const [name, value] of sample(Object.entries(VALUES), { perKind: 10 })) {
        const wrapped = ["run", "approve", "subscribe", "cancel", "response.create"].map(
          (type) =>
            `{"type":"${type}","id":"a","session":"s","message":${value},"arguments":${value},"content":${value},"input":${value}}`,
        );
        for (const text of [value, ...wrapped]) {
          if (text.length > 200_000) continue;
          await attempt(`${path}: ${name}`, async () => {
            socket.send(text);
            socket.ping();
            await Promise.race([once(socket, "pong"), once(socket, "close")]);
            expect(socket.readyState).toBe(WebSocket.OPEN);
            expect(reported.splice(0)).toEqual([]);
          });
        }
      }
      socket.terminate();
    }
  });
});

/** Characters that some parsers treat as line breaks, and texts that would be frames after a line break. */
const BREAKS = ["\n", "\r", "\r\n", "\n\n", "\u2028", "\u2029", "\u0085", "\u000b", "\u000c", "\0", "\u001e", "\ufeff"];
const INSERTS = [
  "data: {}",
  "event: error",
  "id: 9999",
  "retry: 1",
  ": comment",
  '{"type":"run_end"}',
  "[DONE]",
  "data: [DONE]",
  "\ud800",
  "\udfff",
  '"}',
  "\\n",
];

const hostileText = fc
  .array(fc.oneof(fc.constantFrom(...BREAKS), fc.constantFrom(...INSERTS), fc.string({ maxLength: 4 })), {
    minLength: 1,
    maxLength: 8,
  })
  .map((parts) => parts.join(""));

/** Parses server-sent events as the standard defines them, independently of our parser. */
function readEvents(body: string): readonly { readonly data: string; readonly event: string; readonly id: string }[] {
  const events: { readonly data: string; readonly event: string; readonly id: string }[] = [];
  let data: string[] = [];
  let event = "";
  let id = "";
  for (const line of body.replace(/^\ufeff/, "").split(/\r\n|\r|\n/)) {
    if (line === "") {
      if (data.length > 0) events.push({ data: data.join("\n"), event, id });
      data = [];
      event = "";
      continue;
    }
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    else if (name === "event") event = value;
    else if (name === "id" && !value.includes("\0")) id = value;
  }
  return events;
}

describe("frame injection", () => {
  let session = 0;

  async function write(texts: readonly string[]): Promise<readonly string[]> {
    const ids = [`inject-${++session}`, `inject-thoughts-${session}`];
    // The first text is also used as a name, and names have no lone surrogates and no NUL.
    const named = texts.map((text, index) => (index === 0 ? `n${text.toWellFormed().replaceAll("\0", "")}` : text));
    await writeHostileSession(log, ids[0] ?? "", named);
    await writeHostileThoughts(log, ids[1] ?? "", named);
    return ids;
  }

  testThreat("frame-injection", "no text becomes a frame, in any dialect or framing", async ({ count }) => {
    await fc.assert(
      fc.asyncProperty(fc.array(hostileText, { minLength: 1, maxLength: 3 }), async (texts) => {
        for (const id of await write(texts))
          for (const dialect of DIALECT_NAMES) {
            const frames = (await gather(openStream(log, id, { dialect }))).flat();
            const path = `${server.url}/v1/sessions/${id}/events?dialect=${dialect}`;
            const sse = await (await fetch(path, { headers: { accept: "text/event-stream" } })).text();
            const events = readEvents(sse);
            expect(events.map(({ data }) => data)).toEqual(frames.map(({ text }) => text));
            expect(events.every(({ event }) => event === "")).toBe(true);
            expect(events.map(({ id: cursor }) => cursor)).toEqual(frames.map(({ cursor }) => cursor));
            const lines = (await (await fetch(path, { headers: { accept: "application/x-ndjson" } })).text()).split(
              "\n",
            );
            expect(lines.pop()).toBe("");
            expect(lines).toEqual(frames.map(({ text }) => text));
            for (const { text } of frames) {
              // Always one line.
              expect(text).not.toMatch(/[\n\r]/);
              if (text !== "[DONE]") JSON.parse(text);
            }
            count(2);
          }
      }),
      { numRuns: ABUSE_SAMPLES.isWhole ? 300 : 3 },
    );
  });

  testThreat("frame-injection", "hostile texts produce as many frames as harmless ones", async ({ count }) => {
    const counts = async (texts: readonly string[]): Promise<readonly number[]> => {
      const ids = await write(texts);
      const each = ids.flatMap((id) => DIALECT_NAMES.map((dialect) => [id, dialect] as const));
      return Promise.all(
        each.map(async ([id, dialect]) => (await gather(openStream(log, id, { dialect }))).flat().length),
      );
    };
    const harmless = await counts(["a", "b"]);
    for (const stop of BREAKS)
      for (const insert of INSERTS) {
        const hostile = `a${stop}${insert}${stop}${stop}`;
        expect(await counts([hostile, `${insert}${stop}b`]), JSON.stringify(hostile)).toEqual(harmless);
        count(harmless.length);
        if (!ABUSE_SAMPLES.isWhole) break;
      }
  });

  testThreat("frame-injection", "user input stays text in every response", async ({ attempt }) => {
    for (const stop of BREAKS)
      await attempt(JSON.stringify(stop), async () => {
        const title = `t${stop}data: x${stop}${stop}event: y`;
        const id = `said-${++session}`;
        const json = { "content-type": "application/json" };
        const made = await fetch(`${server.url}/v1/sessions`, {
          method: "POST",
          headers: json,
          body: JSON.stringify({ session_id: id, title }),
        });
        expect([201, 400]).toContain(made.status);
        const asked = await fetch(`${server.url}/v1/sessions/${id}/runs`, {
          method: "POST",
          headers: { ...json, accept: "text/event-stream" },
          body: JSON.stringify({ message: title }),
        });
        expect([200, 400]).toContain(asked.status);
        const events = readEvents(await asked.text());
        for (const { data, event } of events) {
          expect(event).toBe("");
          JSON.parse(data);
        }
        // Ids and names with line breaks are refused.
        for (const field of ["session_id", "agent", "run_id"])
          expect(
            await send("POST", "/v1/runs", JSON.stringify({ message: "x", [field]: `n${stop}data: x` })),
          ).toBeLessThan(500);
        for (const header of ["loom-session", "loom-run", "content-location"])
          expect(asked.headers.get(header) ?? "").not.toMatch(/[\n\r]/);
      });
  });
});
