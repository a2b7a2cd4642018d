/**
 * Malformed and abusive requests over raw connections. Each gets at most one response, no body is executed as a
 * request, and the server keeps serving others. `npm run test:long` runs more rounds.
 */
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { OPERATIONS } from "../../src/server/operations.ts";
import { ABUSE_SAMPLES } from "../sampling.ts";
import { type AbuseFixture, createAbuseFixture } from "./abuse-fixture.ts";
import { testSlowThreat, testThreat } from "./test-threat.ts";

const MB = 1024 * 1024;
const MAX_CONNECTIONS = 300;
/** Connections of each kind at the same time, so that all fit under the limit. */
const AT_ONCE = 10;
const MAX_BODY = 64 * 1024;
const LIMITS = {
  headersTimeoutMs: 1000,
  bodyTimeoutMs: 800,
  ingestIdleMs: 800,
  keepAliveMs: 1500,
  maxConnections: MAX_CONNECTIONS,
  maxBodyBytes: MAX_BODY,
  maxBlobBytes: MB,
  maxIngestBytes: MB,
};

let fixture: AbuseFixture;
beforeAll(async () => {
  fixture = await createAbuseFixture(LIMITS);
});
afterAll(() => fixture.close());

const hostLine = (): string => `host: 127.0.0.1:${fixture.port}\r\n`;
const statusesOf = (received: string): readonly number[] =>
  [...received.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map(([, status]) => Number(status));

/** Returns everything the server sends for these bytes, until it closes the connection or sends nothing more. */
async function exchange(...parts: readonly (string | Buffer)[]): Promise<string> {
  const client = fixture.connect();
  client.send(...parts);
  const { socket } = client;
  // Bytes after the request are parsed as the next request: it is answered, or the connection closes.
  await Promise.race([
    client.waitForClose(5000).catch(() => undefined),
    client.waitFor("\r\n\r\n", 5000).then(async () => {
      for (let length = -1; length !== client.received().length && !socket.destroyed;) {
        length = client.received().length;
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
    }),
  ]);
  client.disconnect();
  return client.received();
}

/** A request that must never be executed: it would create a session. */
function hidden(id: string): string {
  const body = JSON.stringify({ session_id: id });
  return `POST /v1/sessions HTTP/1.1\r\n${hostLine()}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

async function exists(id: string): Promise<boolean> {
  const response = await fetch(`${fixture.url}/v1/sessions/${id}`, { headers: { connection: "close" } });
  await response.body?.cancel();
  return response.status === 200;
}

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

describe("request smuggling", () => {
  /** Headers and body of a POST, with a second request hidden where another parser would see one. */
  const shapes: { readonly [name: string]: (inner: string) => string } = {
    "a length and chunks": (inner) =>
      `content-length: ${5 + inner.length}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    "chunks and a length": (inner) => `transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n${inner}`,
    "two lengths": (inner) => `content-length: 0\r\ncontent-length: ${inner.length}\r\n\r\n${inner}`,
    "two lengths in one header": (inner) => `content-length: 0, ${inner.length}\r\n\r\n${inner}`,
    "a length with a plus sign": (inner) => `content-length: +${inner.length}\r\n\r\n${inner}`,
    "a negative length": (inner) => `content-length: -1\r\n\r\n${inner}`,
    "a hexadecimal length": (inner) => `content-length: 0x0\r\n\r\n${inner}`,
    "a length with a space": (inner) => `content-length: 0 0\r\n\r\n${inner}`,
    "a huge length": (inner) => `content-length: 99999999999999999999999\r\n\r\n${inner}`,
    "an empty length": (inner) => `content-length:\r\n\r\n${inner}`,
    "an unknown encoding": (inner) => `transfer-encoding: xchunked\r\ncontent-length: 0\r\n\r\n${inner}`,
    "chunked, but not last": (inner) => `transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n${inner}`,
    "two encodings": (inner) =>
      `transfer-encoding: chunked\r\ntransfer-encoding: identity\r\ncontent-length: 0\r\n\r\n0\r\n\r\n${inner}`,
    "an encoding after a tab": (inner) => `transfer-encoding:\tchunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n${inner}`,
    "an encoding after a vertical tab": (inner) =>
      `transfer-encoding:\x0bchunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n${inner}`,
    "an encoding on a folded line": (inner) =>
      `transfer-encoding:\r\n chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n${inner}`,
    "a space before the colon": (inner) => `transfer-encoding : chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n${inner}`,
    "a space before the name": (inner) => ` transfer-encoding: chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n${inner}`,
    "a name with a NUL": (inner) => `transfer-encoding\0: chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n${inner}`,
    "a header without a colon": (inner) => `transfer-encoding\r\ncontent-length: 0\r\n\r\n${inner}`,
    "lines that end with LF": (inner) => `transfer-encoding: chunked\ncontent-length: 0\n\n0\n\n${inner}`,
    "a line that ends with CR": (inner) => `x: y\rtransfer-encoding: chunked\r\ncontent-length: 0\r\n\r\n${inner}`,
    "a negative chunk size": (inner) => `transfer-encoding: chunked\r\n\r\n-0\r\n\r\n${inner}`,
    "a chunk size with 0x": (inner) => `transfer-encoding: chunked\r\n\r\n0x0\r\n\r\n${inner}`,
    "a huge chunk size": (inner) => `transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n${inner}`,
    "a chunk longer than its size": (inner) => `transfer-encoding: chunked\r\n\r\n1\r\n${inner}\r\n0\r\n\r\n`,
    "a chunk that ends with LF": (inner) => `transfer-encoding: chunked\r\n\r\n2\r\n{}\n0\r\n\r\n${inner}`,
    "a chunk extension with LF": (inner) => `transfer-encoding: chunked\r\n\r\n2;a=\nb\r\n{}\r\n0\r\n\r\n${inner}`,
  };

  testThreat("request-smuggling", "does not execute a request hidden in a body", async ({ attempt }) => {
    const tryShape = ([name, make]: readonly [string, (inner: string) => string], index: number): Promise<void> =>
      attempt(name, async () => {
        const id = `hidden-${index}`;
        const received = await exchange(
          `POST /v1/sessions HTTP/1.1\r\n${hostLine()}content-type: application/json\r\n${make(hidden(id))}`,
        );
        const statuses = statusesOf(received);
        expect(statuses.length, received).toBeLessThanOrEqual(1);
        if (statuses.length === 1) expect(statuses[0]).toBeGreaterThanOrEqual(400);
        expect(await exists(id)).toBe(false);
      });
    await Promise.all(Object.entries(shapes).map(tryShape));
    await fixture.expectHealthy();
  });

  testThreat("request-smuggling", "closes the connection if garbage follows a valid request", async ({ attempt }) => {
    const good = (): string => `GET /healthz HTTP/1.1\r\n${hostLine()}\r\n`;
    const garbage = [
      "GARBAGE\r\n\r\n",
      "\0\0\0\0",
      "GET\r\n\r\n",
      "\x16\x03\x01\x02\x00\x01\x00",
      "}{\r\n",
      "0\r\n\r\n",
    ];
    const tryGarbage = (text: string): Promise<void> =>
      attempt(JSON.stringify(text), async () => {
        const client = fixture.connect();
        client.send(good() + text);
        const statuses = statusesOf(await client.waitForClose(4000));
        // No response at all means that the garbage was detected before the first response was sent.
        expect([[200, 400], [400], [200], [200, 408], []]).toContainEqual(statuses);
      });
    await Promise.all(garbage.map(tryGarbage));
    await attempt("valid requests in a pipeline", async () => {
      const received = await exchange(good().repeat(20));
      expect(statusesOf(received)).toEqual(Array.from({ length: 20 }, () => 200));
    });
    await fixture.expectHealthy();
  });

  testThreat("request-smuggling", "does not copy request data into response headers", async ({ attempt }) => {
    const marks = [
      "%0d%0aset-cookie:%20a=b",
      "%0aset-cookie:%20a=b",
      "%E5%98%8D%E5%98%8Aset-cookie:%20a=b",
      "\u010d\u010aset-cookie:a",
    ];
    const tryMark = async (mark: string): Promise<void> => {
      for (const path of [`/v1/sessions/${mark}`, `/${mark}`, `/v1/sessions?cursor=${mark}`, `/v1/images?url=${mark}`])
        await attempt(path, async () => {
          const received = await exchange(
            Buffer.from(`GET ${path} HTTP/1.1\r\n${hostLine()}x-request-id: ${mark}\r\nconnection: close\r\n\r\n`),
          );
          expect(statusesOf(received).length).toBe(1);
          expect(received.split("\r\n\r\n", 1)[0]?.toLowerCase()).not.toMatch(/^set-cookie/m);
        });
    };
    await Promise.all(marks.map(tryMark));
  });
});

describe("HTTP abuse", () => {
  testThreat("http-abuse", "answers malformed requests and keeps serving", async ({ attempt }) => {
    const get = (target: string, rest = ""): string =>
      `GET ${target} HTTP/1.1\r\n${hostLine()}connection: close\r\n${rest}\r\n`;
    const shapes: { readonly [name: string]: readonly [string, RegExp] } = {
      "HTTP/0.9": ["GET /healthz\r\n\r\n", /^(?:4\d\d)?$/],
      "HTTP/1.0 without a host": ["GET /healthz HTTP/1.0\r\n\r\n", /^4\d\d$/],
      "HTTP/2.0": [`GET /healthz HTTP/2.0\r\n${hostLine()}\r\n`, /^[245]\d\d$/],
      "HTTP/9.9": [`GET /healthz HTTP/9.9\r\n${hostLine()}\r\n`, /^[45]\d\d$/],
      "the HTTP/2 preface": ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", /^[45]\d\d$/],
      "no host": ["GET /healthz HTTP/1.1\r\n\r\n", /^4\d\d$/],
      "two hosts": [`GET /healthz HTTP/1.1\r\n${hostLine()}host: evil.example\r\n\r\n`, /^4\d\d$/],
      "another host": ["GET /healthz HTTP/1.1\r\nhost: evil.example\r\n\r\n", /^403$/],
      "a URL with another host": [get("http://evil.example/healthz"), /^4\d\d$/],
      "a URL with another scheme": [get("file:///etc/passwd"), /^4\d\d$/],
      "a URL with user info": [get(`http://a:b@127.0.0.1:${fixture.port}/healthz`), /^[24]\d\d$/],
      "an invalid URL": [get("http://["), /^4\d\d$/],
      "no target": [`GET  HTTP/1.1\r\n${hostLine()}\r\n`, /^4\d\d$/],
      "a target without a slash": [get("healthz"), /^4\d\d$/],
      TLS: ["\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03", /^(?:4\d\d)?$/],
      "a long path": [get(`/${"a".repeat(15_000)}`), /^4\d\d$/],
      "a path beyond the limit": [get(`/${"a".repeat(200_000)}`), /^(?:4\d\d)?$/],
      "a long query": [get(`/v1/sessions?cursor=${"a".repeat(15_000)}`), /^[24]\d\d$/],
      "thousands of query parameters": [get(`/v1/sessions?${"a=1&".repeat(3000)}`), /^[24]\d\d$/],
      "a long header": [get("/healthz", `x: ${"a".repeat(100_000)}\r\n`), /^431$/],
      "many headers": [get("/healthz", "x: y\r\n".repeat(3000)), /^431$/],
      "many short headers": [get("/healthz", "a:\r\n".repeat(3500)), /^(?:200|431)$/],
      "a header with control and non-ASCII bytes": [get("/healthz", "x: \x80\xff\x01\r\n"), /^[24]\d\d$/],
      "an unknown method": [`FROB /healthz HTTP/1.1\r\n${hostLine()}\r\n`, /^4\d\d$/],
      "a very long method": [`${"G".repeat(50_000)} / HTTP/1.1\r\n${hostLine()}\r\n`, /^(?:4\d\d)?$/],
      TRACE: [
        `TRACE /healthz HTTP/1.1\r\n${hostLine()}x-secret: canary-trace\r\nconnection: close\r\n\r\n`,
        /^[45]\d\d$/,
      ],
      TRACK: [`TRACK /healthz HTTP/1.1\r\n${hostLine()}connection: close\r\n\r\n`, /^4\d\d$/],
      CONNECT: [`CONNECT 127.0.0.1:22 HTTP/1.1\r\n${hostLine()}\r\n`, /^(?:4\d\d)?$/],
      "OPTIONS *": [`OPTIONS * HTTP/1.1\r\n${hostLine()}connection: close\r\n\r\n`, /^[24]\d\d$/],
      "HEAD with a body": [
        `HEAD /healthz HTTP/1.1\r\n${hostLine()}content-length: 2\r\nconnection: close\r\n\r\n{}`,
        /^200$/,
      ],
      "an unknown expectation": [get("/healthz", "expect: 200-ok\r\n"), /^417$/],
      "a negative range": [get("/healthz", "range: bytes=-99999999999999999999\r\n"), /^(?:200|416)$/],
      "a thousand ranges": [get("/healthz", `range: bytes=${"0-0,".repeat(1000)}1-1\r\n`), /^(?:200|416)$/],
      "an unknown upgrade": [get("/healthz", "upgrade: frob\r\n"), /^200$/],
    };
    const tryShape = ([name, [text, status]]: readonly [string, readonly [string, RegExp]]): Promise<void> =>
      attempt(name, async () => {
        const received = await exchange(text);
        expect(statusesOf(received).slice(0, 1).join()).toMatch(status);
        expect(received).not.toContain("canary-trace");
        expect(received).not.toMatch(/node:internal|\.ts:\d+|\/src\//);
      });
    await Promise.all(Object.entries(shapes).map(tryShape));
    await fixture.expectHealthy();
    await fixture.disconnectAll();
  });

  testThreat("http-abuse", "does not serve endpoints or files under other spellings of a path", async ({ attempt }) => {
    const id = "tricks";
    const made = await fetch(`${fixture.url}/v1/sessions`, {
      method: "POST",
      headers: { "content-type": "application/json", connection: "close" },
      body: JSON.stringify({ session_id: id }),
    });
    expect(made.status).toBe(201);
    const paths = [
      `//v1/sessions/${id}`,
      `/v1//sessions/${id}`,
      `/v1/sessions//${id}`,
      `/V1/sessions/${id}`,
      `/v1/sessions/${id}/`,
      `/v1/sessions/${id};x=y`,
      `/v1/sessions/..;/${id}`,
      `/v1%2fsessions%2f${id}`,
      `/v1/sessions%2f${id}`,
      `/v1/sessions/%252e%252e/${id}`,
      `/v1/sessions/${id}%00`,
      `/v1/sessions/%00${id}`,
      `/v1/sessions/${id}%2f..%2f${id}`,
      `/v1\\sessions\\${id}\\x`,
      `/v1/sessions/${id}%20`,
      `/v1/sessions/${id}%0a`,
      `/v1/sessions/%ff`,
      `/v1/sessions/%`,
      `/v1/sessions/%c0%ae%c0%ae`,
      `/assets/../package.json`,
      `/assets/%2e%2e/package.json`,
      `/assets/..%2fpackage.json`,
      `/assets/..%5cpackage.json`,
      `/assets//etc/passwd`,
      `/assets/%2fetc%2fpasswd`,
      `/assets/index.html%00.js`,
      `/%2e%2e/%2e%2e/etc/passwd`,
      `/../../../../etc/passwd`,
      `/.git/config`,
      `/.env`,
      `/package.json`,
    ];
    const tryPath = (path: string): Promise<void> =>
      attempt(path, async () => {
        const client = fixture.connect();
        client.send(`GET ${path} HTTP/1.1\r\n${hostLine()}connection: close\r\n\r\n`);
        const received = await client.waitForClose();
        const [status = 0] = statusesOf(received);
        // All assets of this page are the same text. The test only checks that no file is read.
        if (path.startsWith("/assets/") && status === 200) expect(received).toContain("<title>page</title>");
        else expect([path, Math.floor(status / 100)]).toEqual([path, 4]);
        expect(received).not.toMatch(/root:|"version"|\[core\]/);
      });
    await Promise.all(paths.map(tryPath));
    await fixture.expectHealthy();
  });

  testThreat(
    "http-abuse",
    "refuses unsupported types, encodings and sizes at every endpoint",
    async ({ attempt, sample }) => {
      const endpoints = OPERATIONS.filter(({ method, path }) => method !== "GET" && path !== "/v1/auth/sign-out");
      const types = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
      ];
      const bomb = gzipSync(Buffer.alloc(8 * MB, 32));
      const tries = endpoints.flatMap(({ method, path, body, rawBodyTypes: takes }) => {
        const begin = `${method} ${path.replaceAll(/\{\w+\}/g, "x")} HTTP/1.1\r\n${hostLine()}connection: close\r\n`;
        const ask = (type: string, length: number, content: string | Buffer, more = "") =>
          [`${begin}content-type: ${type}\r\n${more}content-length: ${length}\r\n\r\n`, content] as const;
        if (body === undefined && takes === undefined) return [];
        return [
          ...(body === undefined ? [] : sample(types).map((type) => [type, ask(type, 15, '{"message":"x"}')] as const)),
          ["a bomb", ask("application/json", bomb.length, bomb, "content-encoding: gzip\r\n")] as const,
          ["a body that is too large", ask("application/json", 100 * MB, "{")] as const,
        ].map(([name, parts]) => [`${method} ${path} with ${name}`, parts] as const);
      });
      await Promise.all(
        tries.map(([name, parts]) =>
          attempt(name, async () => expect(statusesOf(await exchange(...parts))[0]).toBeGreaterThanOrEqual(400)),
        ),
      );
      await fixture.expectHealthy();
      await fixture.disconnectAll();
    },
  );

  testThreat("http-abuse", "does not read an endless body", async ({ attempt, sample }) => {
    const piece = chunk("x".repeat(64 * 1024));
    const endpoints = [
      ["/v1/sessions", "application/json"],
      ["/v1/sessions/endless/blobs", "image/png"],
      ["/v1/sessions/endless/ingest?dialect=loom", "application/x-ndjson"],
      ["/healthz", "application/json"],
    ] as const;
    for (const [path, type] of sample(endpoints, { perKind: 2 }))
      await attempt(path, async () => {
        const before = await fixture.measure();
        const client = fixture.connect();
        const method = path === "/healthz" ? "GET" : "POST";
        client.send(
          `${method} ${path} HTTP/1.1\r\n${hostLine()}content-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`,
        );
        for (let sent = 0; sent < ABUSE_SAMPLES.floodBytes && !client.socket.destroyed; sent += piece.length) {
          if (!client.socket.write(piece) && !(await client.waitForDrain(300))) break;
        }
        const { bytes } = await fixture.measure();
        expect((bytes - before.bytes) / MB).toBeLessThan(8);
        await fixture.expectHealthy();
        client.disconnect();
      });
    await fixture.disconnectAll();
  });

  testSlowThreat("http-abuse", "closes connections that stop sending", async ({ attempt }) => {
    const post = (path: string, rest: string): string => `POST ${path} HTTP/1.1\r\n${hostLine()}${rest}`;
    const slow: { readonly [name: string]: readonly [string, RegExp] } = {
      "nothing at all": ["", /^(?:408)?$/],
      "half a line": ["GET /hea", /^408$/],
      "half a head": [`GET /healthz HTTP/1.1\r\n${hostLine()}x: `, /^408$/],
      "half a body": [post("/v1/sessions", "content-type: application/json\r\ncontent-length: 100\r\n\r\n{"), /^408$/],
      "half a chunk": [
        post("/v1/sessions", "content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n64\r\n{"),
        /^408$/,
      ],
      "half a blob": [
        post("/v1/sessions/slow/blobs", "content-type: image/png\r\ncontent-length: 1000\r\n\r\nxx"),
        /^408$/,
      ],
      "half an ingest": [
        post(
          "/v1/sessions/slow/ingest?dialect=loom",
          "content-type: application/x-ndjson\r\ncontent-length: 99\r\n\r\n{",
        ),
        /^408$/,
      ],
      "an idle keep-alive connection": [`GET /healthz HTTP/1.1\r\n${hostLine()}\r\n`, /^200$/],
    };
    // Many connections at once, within the limit.
    for (let left: number = ABUSE_SAMPLES.rounds; left > 0; left -= AT_ONCE) {
      const visits = Object.entries(slow).flatMap(([name, [text, status]]) =>
        Array.from({ length: Math.min(left, AT_ONCE) }, () => {
          const client = fixture.connect();
          client.send(text);
          return { name, status, client };
        }),
      );
      for (const { name, status, client } of visits)
        await attempt(name, async () => expect(statusesOf(await client.waitForClose()).join()).toMatch(status));
    }
    await fixture.expectHealthy();
    await fixture.disconnectAll();
  });

  testSlowThreat("http-abuse", "times out a head or a body that arrives byte by byte", async ({ attempt }) => {
    const head = `POST /v1/sessions HTTP/1.1\r\n${hostLine()}content-type: application/json\r\n`;
    /** The part that is sent at once, and the part that is sent byte by byte. */
    const slow = {
      "a head": [head, `x: ${"y".repeat(100)}`],
      "a body": [`${head}content-length: 100\r\n\r\n`, "[".repeat(99)],
      "chunks of one byte": [`${head}transfer-encoding: chunked\r\n\r\n`, chunk("[").repeat(40)],
    } as const;
    await Promise.all(
      Object.entries(slow).map(([name, [first, rest]]) =>
        attempt(name, async () => {
          const client = fixture.connect();
          client.send(first);
          for (const character of rest) {
            if (client.socket.destroyed || client.received() !== "") break;
            client.send(character);
            await new Promise((resolve) => setTimeout(resolve, 20));
          }
          await client.waitFor("HTTP/1.1 408");
          client.disconnect();
        }),
      ),
    );
    await fixture.expectHealthy();
  });

  testThreat("http-abuse", "limits connections, and accepts new ones after they close", async ({ count }) => {
    await fixture.disconnectAll();
    const flood = Array.from({ length: MAX_CONNECTIONS + 100 }, () => fixture.connect());
    count(flood.length);
    for (const client of flood) client.send(`GET /healthz HTTP/1.1\r\n${hostLine()}\r\n`);
    await Promise.all(flood.map((client) => Promise.race([client.waitFor(" 200 "), client.waitForClose()])));
    const served = flood.filter((client) => client.received().includes(" 200 ")).length;
    expect(served).toBeLessThanOrEqual(MAX_CONNECTIONS);
    expect(served).toBeGreaterThan(MAX_CONNECTIONS / 2);
    for (const client of flood) client.disconnect();
    await fixture.disconnectAll();
    await fixture.expectHealthy();
  });

  testSlowThreat("http-abuse", "frees everything held for clients that disconnect early", async ({ count }) => {
    const partialRequests = (): readonly string[] => [
      "GET /healthz HT",
      `POST /v1/sessions HTTP/1.1\r\n${hostLine()}content-type: application/json\r\ncontent-length: 50000\r\n\r\n${"[".repeat(20_000)}`,
      `POST /v1/sessions/left/blobs HTTP/1.1\r\n${hostLine()}content-type: image/png\r\ncontent-length: 500000\r\n\r\n${"x".repeat(100_000)}`,
      `POST /v1/sessions/left/ingest?dialect=loom HTTP/1.1\r\n${hostLine()}content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{`,
      `GET /v1/sessions/tricks/events HTTP/1.1\r\n${hostLine()}accept: text/event-stream\r\n\r\n`,
      `GET /openapi.json HTTP/1.1\r\n${hostLine()}\r\n`,
    ];
    const visit = async (rounds: number): Promise<void> => {
      for (let round = 0; round < rounds; round++) {
        const clients = partialRequests().map((text) => {
          const client = fixture.connect();
          client.send(text);
          return client;
        });
        await new Promise((resolve) => setTimeout(resolve, 10));
        for (const client of clients) client.disconnect();
      }
    };
    await visit(ABUSE_SAMPLES.rounds * 3);
    const before = await fixture.disconnectAll();
    await visit(ABUSE_SAMPLES.rounds * 10);
    const after = await fixture.disconnectAll();
    count(ABUSE_SAMPLES.rounds * 13 * partialRequests().length);
    expect((after.bytes - before.bytes) / MB).toBeLessThan(2);
    await fixture.expectHealthy();
  });
});
