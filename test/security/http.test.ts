/**
 * Requests as nobody should write them, over raw connections: each is answered once or not at all, none is taken for two,
 * no body runs what stands in it, and whoever comes next is served. More rounds in `npm run test:long`.
 */
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { OPERATIONS } from "../../src/server/api/operations.ts";
import { ABUSE_SAMPLES } from "../sampling.ts";
import { type AbuseStage, setAbuseStage } from "./abuse-stage.ts";
import { itHolds } from "./it-holds.ts";

const MB = 1024 * 1024;
const MAX_CONNECTIONS = 300;
/** Of each kind, so that all of them find room. */
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

let stage: AbuseStage;
beforeAll(async () => {
  stage = await setAbuseStage(LIMITS);
});
afterAll(() => stage.close());

const hostLine = (): string => `host: 127.0.0.1:${stage.port}\r\n`;
const statusesOf = (said: string): readonly number[] =>
  [...said.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map(([, status]) => Number(status));

/** All that is said to these bytes, until the server hangs up, or until it has said nothing more for a moment. */
async function speak(...parts: readonly (string | Buffer)[]): Promise<string> {
  const abuser = stage.connect();
  abuser.send(...parts);
  const { socket } = abuser;
  // Whatever stands behind the bytes is the next request: it is answered, or the connection is over.
  await Promise.race([
    abuser.closed(5000).catch(() => undefined),
    abuser.until("\r\n\r\n", 5000).then(async () => {
      for (let length = -1; length !== abuser.said().length && !socket.destroyed;) {
        length = abuser.said().length;
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
    }),
  ]);
  abuser.leave();
  return abuser.said();
}

/** A request that must never be carried out: it would make a session. */
function hidden(id: string): string {
  const body = JSON.stringify({ session_id: id });
  return `POST /v1/sessions HTTP/1.1\r\n${hostLine()}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

async function exists(id: string): Promise<boolean> {
  const response = await fetch(`${stage.url}/v1/sessions/${id}`, { headers: { connection: "close" } });
  await response.body?.cancel();
  return response.status === 200;
}

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

describe("request smuggling", () => {
  /** What stands in the head of a POST, and its body, with a request hidden where another reader would see one. */
  const shapes: { readonly [name: string]: (inner: string) => string } = {
    "a length and chunks": (inner) =>
      `content-length: ${5 + inner.length}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    "chunks and a length": (inner) => `transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n${inner}`,
    "two lengths": (inner) => `content-length: 0\r\ncontent-length: ${inner.length}\r\n\r\n${inner}`,
    "two lengths in one": (inner) => `content-length: 0, ${inner.length}\r\n\r\n${inner}`,
    "a length with a sign": (inner) => `content-length: +${inner.length}\r\n\r\n${inner}`,
    "a length below nothing": (inner) => `content-length: -1\r\n\r\n${inner}`,
    "a length in hexadecimal": (inner) => `content-length: 0x0\r\n\r\n${inner}`,
    "a length with a blank in it": (inner) => `content-length: 0 0\r\n\r\n${inner}`,
    "a length beyond all": (inner) => `content-length: 99999999999999999999999\r\n\r\n${inner}`,
    "an empty length": (inner) => `content-length:\r\n\r\n${inner}`,
    "chunks written oddly": (inner) => `transfer-encoding: xchunked\r\ncontent-length: 0\r\n\r\n${inner}`,
    "chunks that are not last": (inner) => `transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n${inner}`,
    "chunks twice": (inner) =>
      `transfer-encoding: chunked\r\ntransfer-encoding: identity\r\ncontent-length: 0\r\n\r\n0\r\n\r\n${inner}`,
    "chunks behind a tab": (inner) => `transfer-encoding:\tchunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n${inner}`,
    "chunks behind a vertical tab": (inner) =>
      `transfer-encoding:\x0bchunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n${inner}`,
    "chunks on the next line": (inner) =>
      `transfer-encoding:\r\n chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n${inner}`,
    "a blank before the colon": (inner) => `transfer-encoding : chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n${inner}`,
    "a blank before the name": (inner) => ` transfer-encoding: chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n${inner}`,
    "a name with a NUL": (inner) => `transfer-encoding\0: chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n${inner}`,
    "a header without a colon": (inner) => `transfer-encoding\r\ncontent-length: 0\r\n\r\n${inner}`,
    "lines that end with LF": (inner) => `transfer-encoding: chunked\ncontent-length: 0\n\n0\n\n${inner}`,
    "a line that ends with CR": (inner) => `x: y\rtransfer-encoding: chunked\r\ncontent-length: 0\r\n\r\n${inner}`,
    "a chunk's length with a sign": (inner) => `transfer-encoding: chunked\r\n\r\n-0\r\n\r\n${inner}`,
    "a chunk's length as 0x": (inner) => `transfer-encoding: chunked\r\n\r\n0x0\r\n\r\n${inner}`,
    "a chunk's length beyond all": (inner) => `transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n${inner}`,
    "a chunk longer than said": (inner) => `transfer-encoding: chunked\r\n\r\n1\r\n${inner}\r\n0\r\n\r\n`,
    "a chunk that ends with LF": (inner) => `transfer-encoding: chunked\r\n\r\n2\r\n{}\n0\r\n\r\n${inner}`,
    "a chunk's extension with LF": (inner) => `transfer-encoding: chunked\r\n\r\n2;a=\nb\r\n{}\r\n0\r\n\r\n${inner}`,
  };

  itHolds("request-smuggling", "takes no body for a request", async ({ attempt }) => {
    let index = 0;
    for (const [name, make] of Object.entries(shapes))
      await attempt(name, async () => {
        const id = `hidden-${++index}`;
        const said = await speak(
          `POST /v1/sessions HTTP/1.1\r\n${hostLine()}content-type: application/json\r\n${make(hidden(id))}`,
        );
        const statuses = statusesOf(said);
        expect(statuses.length, said).toBeLessThanOrEqual(1);
        if (statuses.length === 1) expect(statuses[0]).toBeGreaterThanOrEqual(400);
        expect(await exists(id)).toBe(false);
      });
    await stage.expectUp();
  });

  itHolds("request-smuggling", "hangs up on what stands behind a good request and is none", async ({ attempt }) => {
    const good = (): string => `GET /healthz HTTP/1.1\r\n${hostLine()}\r\n`;
    const garbage = [
      "GARBAGE\r\n\r\n",
      "\0\0\0\0",
      "GET\r\n\r\n",
      "\x16\x03\x01\x02\x00\x01\x00",
      "}{\r\n",
      "0\r\n\r\n",
    ];
    for (const text of garbage)
      await attempt(JSON.stringify(text), async () => {
        const abuser = stage.connect();
        abuser.send(good() + text);
        const statuses = statusesOf(await abuser.closed(4000));
        // Where nothing is said at all, it was seen before the first was answered.
        expect([[200, 400], [400], [200], [200, 408], []]).toContainEqual(statuses);
      });
    await attempt("good ones, one behind the other", async () => {
      const said = await speak(good().repeat(20));
      expect(statusesOf(said)).toEqual(Array.from({ length: 20 }, () => 200));
    });
    await stage.expectUp();
  });

  itHolds("request-smuggling", "lets no header of an answer be written by whoever asks", async ({ attempt }) => {
    const marks = [
      "%0d%0aset-cookie:%20a=b",
      "%0aset-cookie:%20a=b",
      "%E5%98%8D%E5%98%8Aset-cookie:%20a=b",
      "\u010d\u010aset-cookie:a",
    ];
    for (const mark of marks)
      for (const path of [`/v1/sessions/${mark}`, `/${mark}`, `/v1/sessions?cursor=${mark}`, `/v1/images?url=${mark}`])
        await attempt(path, async () => {
          const said = await speak(
            Buffer.from(`GET ${path} HTTP/1.1\r\n${hostLine()}x-request-id: ${mark}\r\nconnection: close\r\n\r\n`),
          );
          expect(statusesOf(said).length).toBe(1);
          expect(said.split("\r\n\r\n", 1)[0]?.toLowerCase()).not.toMatch(/^set-cookie/m);
        });
  });
});

describe("HTTP abuse", () => {
  itHolds("http-abuse", "answers what is badly written, and is there for the next", async ({ attempt }) => {
    const get = (target: string, rest = ""): string =>
      `GET ${target} HTTP/1.1\r\n${hostLine()}connection: close\r\n${rest}\r\n`;
    const shapes: { readonly [name: string]: readonly [string, RegExp] } = {
      "HTTP/0.9": ["GET /healthz\r\n\r\n", /^(?:4\d\d)?$/],
      "HTTP/1.0 without a host": ["GET /healthz HTTP/1.0\r\n\r\n", /^4\d\d$/],
      "HTTP/2.0": [`GET /healthz HTTP/2.0\r\n${hostLine()}\r\n`, /^[245]\d\d$/],
      "HTTP/9.9": [`GET /healthz HTTP/9.9\r\n${hostLine()}\r\n`, /^[45]\d\d$/],
      "the preface of HTTP/2": ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", /^[45]\d\d$/],
      "no host": ["GET /healthz HTTP/1.1\r\n\r\n", /^4\d\d$/],
      "two hosts": [`GET /healthz HTTP/1.1\r\n${hostLine()}host: evil.example\r\n\r\n`, /^4\d\d$/],
      "another host": ["GET /healthz HTTP/1.1\r\nhost: evil.example\r\n\r\n", /^403$/],
      "the address of another": [get("http://evil.example/healthz"), /^4\d\d$/],
      "an address of another scheme": [get("file:///etc/passwd"), /^4\d\d$/],
      "an address with somebody in it": [get(`http://a:b@127.0.0.1:${stage.port}/healthz`), /^[24]\d\d$/],
      "an address that is none": [get("http://["), /^4\d\d$/],
      "no address": [`GET  HTTP/1.1\r\n${hostLine()}\r\n`, /^4\d\d$/],
      "an address without a slash": [get("healthz"), /^4\d\d$/],
      TLS: ["\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03", /^(?:4\d\d)?$/],
      "a long address": [get(`/${"a".repeat(15_000)}`), /^4\d\d$/],
      "an address beyond the limit": [get(`/${"a".repeat(200_000)}`), /^(?:4\d\d)?$/],
      "a long query": [get(`/v1/sessions?cursor=${"a".repeat(15_000)}`), /^[24]\d\d$/],
      "a thousand questions": [get(`/v1/sessions?${"a=1&".repeat(3000)}`), /^[24]\d\d$/],
      "a long header": [get("/healthz", `x: ${"a".repeat(100_000)}\r\n`), /^431$/],
      "many headers": [get("/healthz", "x: y\r\n".repeat(3000)), /^431$/],
      "many headers of few bytes": [get("/healthz", "a:\r\n".repeat(3500)), /^(?:200|431)$/],
      "a header of all bytes": [get("/healthz", "x: \x80\xff\x01\r\n"), /^[24]\d\d$/],
      "a method of nobody": [`FROB /healthz HTTP/1.1\r\n${hostLine()}\r\n`, /^4\d\d$/],
      "a method without end": [`${"G".repeat(50_000)} / HTTP/1.1\r\n${hostLine()}\r\n`, /^(?:4\d\d)?$/],
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
      "what is expected and is nothing": [get("/healthz", "expect: 200-ok\r\n"), /^417$/],
      "a range below nothing": [get("/healthz", "range: bytes=-99999999999999999999\r\n"), /^(?:200|416)$/],
      "a thousand ranges": [get("/healthz", `range: bytes=${"0-0,".repeat(1000)}1-1\r\n`), /^(?:200|416)$/],
      "an upgrade to nothing": [get("/healthz", "upgrade: frob\r\n"), /^200$/],
    };
    for (const [name, [text, status]] of Object.entries(shapes))
      await attempt(name, async () => {
        const said = await speak(text);
        expect(statusesOf(said).slice(0, 1).join()).toMatch(status);
        expect(said).not.toContain("canary-trace");
        expect(said).not.toMatch(/node:internal|\.ts:\d+|\/src\//);
      });
    await stage.expectUp();
    await stage.expectGone();
  });

  itHolds("http-abuse", "finds no door by another name", async ({ attempt }) => {
    const id = "tricks";
    const made = await fetch(`${stage.url}/v1/sessions`, {
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
    for (const path of paths)
      await attempt(path, async () => {
        const abuser = stage.connect();
        abuser.send(`GET ${path} HTTP/1.1\r\n${hostLine()}connection: close\r\n\r\n`);
        const said = await abuser.closed();
        const [status = 0] = statusesOf(said);
        // The assets of this page are all the same text; what matters is that no file is read.
        if (path.startsWith("/assets/") && status === 200) expect(said).toContain("<title>page</title>");
        else expect([path, Math.floor(status / 100)]).toEqual([path, 4]);
        expect(said).not.toMatch(/root:|"version"|\[core\]/);
      });
    await stage.expectUp();
  });

  itHolds("http-abuse", "reads at every door what it is for, and nothing else", async ({ attempt }) => {
    const doors = OPERATIONS.filter(({ method, path }) => method !== "GET" && path !== "/v1/auth/sign-out");
    const types = [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "application/xml",
    ];
    const bomb = gzipSync(Buffer.alloc(8 * MB, 32));
    const tries = doors.flatMap(({ method, path, body, takes }) => {
      const begin = `${method} ${path.replaceAll(/\{\w+\}/g, "x")} HTTP/1.1\r\n${hostLine()}connection: close\r\n`;
      const ask = (type: string, length: number, content: string | Buffer, more = "") =>
        [`${begin}content-type: ${type}\r\n${more}content-length: ${length}\r\n\r\n`, content] as const;
      if (body === undefined && takes === undefined) return [];
      return [
        ...(body === undefined ? [] : types.map((type) => [type, ask(type, 15, '{"message":"x"}')] as const)),
        ["a bomb", ask("application/json", bomb.length, bomb, "content-encoding: gzip\r\n")] as const,
        ["more than it takes", ask("application/json", 100 * MB, "{")] as const,
      ].map(([name, parts]) => [`${method} ${path} with ${name}`, parts] as const);
    });
    await Promise.all(
      tries.map(([name, parts]) =>
        attempt(name, async () => expect(statusesOf(await speak(...parts))[0]).toBeGreaterThanOrEqual(400)),
      ),
    );
    await stage.expectUp();
    await stage.expectGone();
  });

  itHolds("http-abuse", "does not read a body without end", async ({ attempt }) => {
    const piece = chunk("x".repeat(64 * 1024));
    for (const [path, type] of [
      ["/v1/sessions", "application/json"],
      ["/v1/sessions/endless/blobs", "image/png"],
      ["/v1/sessions/endless/ingest?dialect=loom", "application/x-ndjson"],
      ["/healthz", "application/json"],
    ] as const)
      await attempt(path, async () => {
        const before = await stage.measure();
        const abuser = stage.connect();
        const method = path === "/healthz" ? "GET" : "POST";
        abuser.send(
          `${method} ${path} HTTP/1.1\r\n${hostLine()}content-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`,
        );
        for (let sent = 0; sent < ABUSE_SAMPLES.floodBytes && !abuser.socket.destroyed; sent += piece.length) {
          if (!abuser.socket.write(piece) && !(await abuser.drained(300))) break;
        }
        const { bytes } = await stage.measure();
        expect((bytes - before.bytes) / MB).toBeLessThan(8);
        await stage.expectUp();
        abuser.leave();
      });
    await stage.expectGone();
  });

  itHolds("http-abuse", "does not wait for those who take their time", async ({ attempt }) => {
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
      "a connection for later": [`GET /healthz HTTP/1.1\r\n${hostLine()}\r\n`, /^200$/],
    };
    // Many at once, and no more than the server takes.
    for (let left: number = ABUSE_SAMPLES.rounds; left > 0; left -= AT_ONCE) {
      const visits = Object.entries(slow).flatMap(([name, [text, status]]) =>
        Array.from({ length: Math.min(left, AT_ONCE) }, () => {
          const abuser = stage.connect();
          abuser.send(text);
          return { name, status, abuser };
        }),
      );
      for (const { name, status, abuser } of visits)
        await attempt(name, async () => expect(statusesOf(await abuser.closed()).join()).toMatch(status));
    }
    await stage.expectUp();
    await stage.expectGone();
  });

  itHolds("http-abuse", "does not wait for a head or a body that comes byte by byte", async ({ attempt }) => {
    const head = `POST /v1/sessions HTTP/1.1\r\n${hostLine()}content-type: application/json\r\n`;
    /** What comes at once, and what comes slowly. */
    const slow = {
      "a head": [head, `x: ${"y".repeat(100)}`],
      "a body": [`${head}content-length: 100\r\n\r\n`, "[".repeat(99)],
      "chunks of one byte": [`${head}transfer-encoding: chunked\r\n\r\n`, chunk("[").repeat(40)],
    } as const;
    await Promise.all(
      Object.entries(slow).map(([name, [first, rest]]) =>
        attempt(name, async () => {
          const abuser = stage.connect();
          abuser.send(first);
          for (const character of rest) {
            if (abuser.socket.destroyed || abuser.said() !== "") break;
            abuser.send(character);
            await new Promise((resolve) => setTimeout(resolve, 20));
          }
          await abuser.until("HTTP/1.1 408");
          abuser.leave();
        }),
      ),
    );
    await stage.expectUp();
  });

  itHolds("http-abuse", "takes so many connections, and others when they are gone", async ({ count }) => {
    await stage.expectGone();
    const flood = Array.from({ length: MAX_CONNECTIONS + 100 }, () => stage.connect());
    count(flood.length);
    for (const abuser of flood) abuser.send(`GET /healthz HTTP/1.1\r\n${hostLine()}\r\n`);
    await Promise.all(flood.map((abuser) => Promise.race([abuser.until(" 200 "), abuser.closed()])));
    const served = flood.filter((abuser) => abuser.said().includes(" 200 ")).length;
    expect(served).toBeLessThanOrEqual(MAX_CONNECTIONS);
    expect(served).toBeGreaterThan(MAX_CONNECTIONS / 2);
    for (const abuser of flood) abuser.leave();
    await stage.expectGone();
    await stage.expectUp();
  });

  itHolds("http-abuse", "holds nothing of those who left in the middle", async ({ count }) => {
    const middles = (): readonly string[] => [
      "GET /healthz HT",
      `POST /v1/sessions HTTP/1.1\r\n${hostLine()}content-type: application/json\r\ncontent-length: 50000\r\n\r\n${"[".repeat(20_000)}`,
      `POST /v1/sessions/left/blobs HTTP/1.1\r\n${hostLine()}content-type: image/png\r\ncontent-length: 500000\r\n\r\n${"x".repeat(100_000)}`,
      `POST /v1/sessions/left/ingest?dialect=loom HTTP/1.1\r\n${hostLine()}content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{`,
      `GET /v1/sessions/tricks/events HTTP/1.1\r\n${hostLine()}accept: text/event-stream\r\n\r\n`,
      `GET /openapi.json HTTP/1.1\r\n${hostLine()}\r\n`,
    ];
    const visit = async (rounds: number): Promise<void> => {
      for (let round = 0; round < rounds; round++) {
        const abusers = middles().map((text) => {
          const abuser = stage.connect();
          abuser.send(text);
          return abuser;
        });
        await new Promise((resolve) => setTimeout(resolve, 10));
        for (const abuser of abusers) abuser.leave();
      }
    };
    await visit(ABUSE_SAMPLES.rounds * 3);
    const before = await stage.expectGone();
    await visit(ABUSE_SAMPLES.rounds * 10);
    const after = await stage.expectGone();
    count(ABUSE_SAMPLES.rounds * 13 * middles().length);
    expect((after.bytes - before.bytes) / MB).toBeLessThan(2);
    await stage.expectUp();
  });
});
