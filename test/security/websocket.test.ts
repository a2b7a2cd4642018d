/**
 * Malformed and abusive WebSocket traffic on both paths. The server closes the connection with the right code, keeps
 * serving others, and frees all memory of the connection. `npm run test:long` runs more rounds.
 */
import { deflateRawSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { ABUSE_SAMPLES, LONG } from "../sampling.ts";
import { type RawClient, type AbuseFixture, createAbuseFixture } from "./abuse-fixture.ts";
import { testSlowThreat, testThreat } from "./test-threat.ts";
import { makeFrame, OPCODE, readCloseCode, readFrames } from "./raw-frames.ts";

const PATHS = ["/v1/ws", "/agentOS/v1/ws_stream"];
const MB = 1024 * 1024;
/** In characters. A socket accepts four times as many bytes. */
const MAX_INBOUND = 64 * 1024;
const MAX_BYTES = 4 * MAX_INBOUND;
const MAX_SOCKETS = 200;
const LIMITS = {
  maxInboundLength: MAX_INBOUND,
  maxSockets: MAX_SOCKETS,
  // The long run sends hundreds of megabytes, so the server may be slow to read a head.
  headersTimeoutMs: ABUSE_SAMPLES.isWhole ? 5000 : 1000,
  pingMs: 1000,
  heartbeatMs: 0,
};

const { text: TEXT, continuation: MORE, binary: BINARY, close: CLOSE, ping: PING } = OPCODE;
const open = { isFinal: false };

/** RFC 6455 §7.4.1. */
const PROTOCOL_ERROR = 1002;
const NOT_UTF8 = 1007;
const AGAINST_RULES = 1008;
const TOO_BIG = 1009;

const BAD_UTF8: readonly string[] = [
  "80",
  "c0af",
  "c1bf",
  "c3",
  "e0809f",
  "e28228",
  "eda080",
  "edbfbf",
  "f0808080",
  "f4908080",
  "f5808080",
  "f8888080",
  "fe",
  "ff",
  "6162ff6364",
];

const bytesOf = (hex: string): Buffer => Buffer.from(hex, "hex");
const closeWith = (code: number, reason: Buffer | string = ""): Buffer => {
  const head = Buffer.alloc(2);
  head.writeUInt16BE(code);
  return makeFrame(CLOSE, Buffer.concat([head, Buffer.from(reason)]));
};

/** Frames, and the code that the server closes with. */
const SHAPES: readonly (readonly [string, readonly Buffer[], number])[] = [
  ["a continuation without a message", [makeFrame(MORE, "x")], PROTOCOL_ERROR],
  ["an unfinished continuation without a message", [makeFrame(MORE, "x", open)], PROTOCOL_ERROR],
  ["a text frame within a text message", [makeFrame(TEXT, "a", open), makeFrame(TEXT, "b")], PROTOCOL_ERROR],
  ["a binary frame within a text message", [makeFrame(TEXT, "a", open), makeFrame(BINARY, "b")], PROTOCOL_ERROR],
  ["an unmasked text", [makeFrame(TEXT, "{}", { isMasked: false })], PROTOCOL_ERROR],
  ["an unmasked ping", [makeFrame(PING, "", { isMasked: false })], PROTOCOL_ERROR],
  ...[1, 2, 3, 4, 5, 6, 7].map(
    (reserved) => [`reserved bits ${reserved}`, [makeFrame(TEXT, "{}", { reserved })], PROTOCOL_ERROR] as const,
  ),
  ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map(
    (opcode) => [`opcode ${opcode}`, [makeFrame(opcode, "x")], PROTOCOL_ERROR] as const,
  ),
  ["a fragmented ping", [makeFrame(PING, "x", open)], PROTOCOL_ERROR],
  ["a fragmented close", [makeFrame(CLOSE, "", open)], PROTOCOL_ERROR],
  ["a long ping", [makeFrame(PING, "x".repeat(126))], PROTOCOL_ERROR],
  ["a long pong", [makeFrame(OPCODE.pong, "x".repeat(70_000))], PROTOCOL_ERROR],
  ["a long close", [makeFrame(CLOSE, Buffer.alloc(126, 3))], PROTOCOL_ERROR],
  ["a close code of one byte", [makeFrame(CLOSE, "x")], PROTOCOL_ERROR],
  ...[0, 1, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535].map(
    (code) => [`close ${code}`, [closeWith(code)], PROTOCOL_ERROR] as const,
  ),
  ["a close reason that is not UTF-8", [closeWith(1000, bytesOf("c3"))], NOT_UTF8],
  ...BAD_UTF8.map((hex) => [`the text ${hex}`, [makeFrame(TEXT, bytesOf(hex))], NOT_UTF8] as const),
  ...BAD_UTF8.map(
    (hex) =>
      [
        `the text ${hex}, fragmented`,
        [
          makeFrame(TEXT, "", open),
          ...[...bytesOf(hex)].map((byte) => makeFrame(MORE, Buffer.from([byte]), open)),
          makeFrame(MORE),
        ],
        NOT_UTF8,
      ] as const,
  ),
  ...[BigInt(MAX_BYTES) + 1n, 2n ** 31n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n].map(
    (length) => [`a length of ${length}`, [makeFrame(BINARY, "x", { length })], TOO_BIG] as const,
  ),
  [
    "a message that grows too long",
    Array.from({ length: 9 }, (_, at) => makeFrame(at === 0 ? TEXT : MORE, "x".repeat(MAX_BYTES / 8), open)),
    TOO_BIG,
  ],
  [
    "a decompression bomb",
    [makeFrame(TEXT, deflateRawSync(Buffer.alloc(16 * MB)).subarray(0, -4), { reserved: 4 })],
    PROTOCOL_ERROR,
  ],
  ["a flood of fragments", flood(20_000, () => makeFrame(MORE, "x", open)), AGAINST_RULES],
  ["a flood of empty fragments", flood(100_000, () => makeFrame(MORE, "", open)), AGAINST_RULES],
];

/** One message that never ends, in two writes. */
function flood(count: number, make: () => Buffer): readonly Buffer[] {
  return [makeFrame(TEXT, "", open), Buffer.concat(Array.from({ length: count }, make))];
}

function handshake(path: string, headers: { readonly [name: string]: string | undefined } = {}): string {
  const all = {
    host: "localhost",
    upgrade: "websocket",
    connection: "Upgrade",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-version": "13",
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}\r\n`]));
  return `GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

let fixture: AbuseFixture;
beforeAll(async () => {
  fixture = await createAbuseFixture(LIMITS);
});
afterAll(() => fixture.close());

const hostOf = () => ({ host: `127.0.0.1:${fixture.port}` });

async function openSocket(path: string): Promise<RawClient> {
  const client = fixture.connect();
  client.send(handshake(path, hostOf()));
  await client.waitFor("\r\n\r\n");
  expect(client.received()).toMatch(/^HTTP\/1\.1 101 /);
  return client;
}

describe.for(PATHS)("%s", (path) => {
  testThreat(
    "websocket-abuse",
    "closes connections that break the protocol, with the right code",
    async ({ attempt, sample }) => {
      const kindOf = ([name, , code]: (typeof SHAPES)[number]): string =>
        `${name.replace(/[\da-f]{2,}|\d/, "")} ${code}`;
      for (const [name, frames, code] of sample(SHAPES, { kindOf }))
        await attempt(name, async () => {
          const client = await openSocket(path);
          client.send(...frames);
          expect(readCloseCode(await client.waitForClose())).toBe(code);
        });
      await fixture.expectHealthy();
      await fixture.disconnectAll();
    },
  );

  testThreat(
    "websocket-abuse",
    "refuses messages that are too long or not text, and stays open",
    async ({ attempt }) => {
      const client = await openSocket(path);
      const kinds = [
        makeFrame(BINARY, Buffer.alloc(1000)),
        makeFrame(TEXT, "x".repeat(MAX_INBOUND + 1)),
        makeFrame(TEXT, `"${"\u{1f600}".repeat(MAX_INBOUND / 2)}"`),
        makeFrame(TEXT, ""),
        makeFrame(TEXT, "\0"),
        makeFrame(TEXT, "[".repeat(MAX_INBOUND)),
      ];
      for (const [at, frame] of kinds.entries())
        await attempt(`frame ${at}`, async () => {
          const before = readFrames(client.received()).length;
          client.send(frame);
          await expect.poll(() => readFrames(client.received()).length, { interval: 2 }).toBeGreaterThan(before);
          expect(readCloseCode(client.received())).toBeUndefined();
        });
      client.send(makeFrame(PING, "still there"));
      await client.waitFor("still there");
      await fixture.disconnectAll();
    },
  );

  testThreat("websocket-abuse", "limits memory for clients that send but never read", async ({ attempt, sample }) => {
    const before = await fixture.disconnectAll();
    const many = (frame: Buffer): Buffer => Buffer.concat(Array.from({ length: MB / frame.length }, () => frame));
    /**
     * The frame that is sent repeatedly, and the memory in megabytes that may be used. A short text needs many times
     * its length.
     */
    const floods: { readonly [name: string]: readonly [Buffer, number] } = {
      "long pings": [makeFrame(PING, "x".repeat(125)), 10],
      "short pings": [makeFrame(PING), 10],
      pongs: [makeFrame(OPCODE.pong, "x".repeat(125)), 10],
      "refused frames": [makeFrame(TEXT, "no"), 32],
      bytes: [makeFrame(BINARY, "x"), 32],
      "pings of the control protocol": [makeFrame(TEXT, '{"type":"ping"}'), 32],
    };
    const kindOf = ([, [, bound]]: readonly [string, readonly [Buffer, number]]): string => String(bound);
    const chosen = sample(Object.entries(floods), { kindOf });
    // The same code answers pings of both paths.
    const isTested = ([name]: (typeof chosen)[number]): boolean =>
      LONG || path === PATHS[0] || !/^(?:long pings|short pings|pongs)$/.test(name);
    for (const [name, [frame, bound]] of chosen.filter(isTested))
      await attempt(name, async () => {
        const client = await openSocket(path);
        client.socket.pause();
        const bytes = many(frame);
        for (let sent = 0; sent < ABUSE_SAMPLES.floodBytes && !client.socket.destroyed; sent += bytes.length) {
          // The server no longer reads, which also limits its memory.
          if (!client.socket.write(bytes) && !(await client.waitForDrain(150))) break;
        }
        const { bytes: held } = await fixture.measure();
        expect((held - before.bytes) / MB).toBeLessThan(bound);
        client.disconnect();
        await fixture.expectHealthy();
      });
    await fixture.disconnectAll();
  });

  testThreat("websocket-abuse", "refuses invalid handshakes", async ({ attempt }) => {
    const shapes: { readonly [name: string]: string } = {
      "no key": handshake(path, { ...hostOf(), "sec-websocket-key": undefined }),
      "a short key": handshake(path, { ...hostOf(), "sec-websocket-key": "abc" }),
      "an old version": handshake(path, { ...hostOf(), "sec-websocket-version": "7" }),
      "no version": handshake(path, { ...hostOf(), "sec-websocket-version": undefined }),
      "a repeated version": handshake(path, { ...hostOf(), "sec-websocket-version": "13, 13" }),
      "no host": handshake(path, { host: undefined }),
      "another host": handshake(path, { host: "evil.example" }),
      "a POST": handshake(path, hostOf()).replace("GET", "POST"),
      "an invalid subprotocol": handshake(path, { ...hostOf(), "sec-websocket-protocol": "a,,b" }),
      "another upgrade": handshake(path, { ...hostOf(), upgrade: "h2c" }),
      "two upgrades": handshake(path, { ...hostOf(), upgrade: "h2c, websocket" }),
      "an invalid URL": handshake("http://[", hostOf()),
      "another path": handshake(`${path}/..`, hostOf()),
      "an encoded path": handshake(path.replace("/v1", "/%76%31"), hostOf()),
    };
    for (const [name, text] of Object.entries(shapes))
      await attempt(name, async () => {
        const client = fixture.connect();
        client.send(text);
        await client.waitFor(/^HTTP\/1\.1 \d{3}/);
        expect(client.received().slice(9, 12)).toMatch(/^[245]\d\d$/);
        client.disconnect();
      });
    await fixture.expectHealthy();
  });

  testThreat("websocket-abuse", "never negotiates compression", async ({ attempt }) => {
    const offers = [
      "permessage-deflate",
      "permessage-deflate; client_max_window_bits=8",
      "x-webkit-deflate-frame",
      "=;=",
    ];
    for (const offer of offers)
      await attempt(offer, async () => {
        const client = fixture.connect();
        client.send(handshake(path, { ...hostOf(), "sec-websocket-extensions": offer }));
        await client.waitFor("\r\n\r\n");
        expect(client.received()).toMatch(/^HTTP\/1\.1 101 /);
        expect(client.received().toLowerCase()).not.toContain("sec-websocket-extensions");
        client.send(makeFrame(TEXT, deflateRawSync("x"), { reserved: 4 }));
        expect(readCloseCode(await client.waitForClose())).toBe(PROTOCOL_ERROR);
      });
  });
});

describe("many sockets", () => {
  const pathOf = (index: number): string => PATHS[index % PATHS.length] ?? "";

  testThreat(
    "websocket-abuse",
    "does not buffer a frame that arrives byte by byte without limit",
    async ({ sample }) => {
      for (const path of sample(PATHS)) {
        const before = await fixture.disconnectAll();
        const client = await openSocket(path);
        client.socket.setNoDelay(true);
        const frame = makeFrame(TEXT, "x".repeat(MAX_BYTES - 1));
        for (let at = 0; at < 20_000 && !client.socket.destroyed; at++) {
          client.socket.write(frame.subarray(at, at + 1));
          if (at % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        const { bytes } = await fixture.measure();
        expect((bytes - before.bytes) / MB).toBeLessThan(3);
        await fixture.expectHealthy();
      }
    },
  );

  testSlowThreat("websocket-abuse", "limits idle sockets, and accepts new ones after they close", async ({ count }) => {
    await fixture.disconnectAll();
    const silent = await Promise.all(Array.from({ length: MAX_SOCKETS }, (_, index) => openSocket(pathOf(index))));
    count(silent.length);
    for (const path of PATHS) {
      const refused = fixture.connect();
      refused.send(handshake(path, hostOf()));
      expect(await refused.waitForClose()).toMatch(/^HTTP\/1\.1 503 [^]*"code":"too_many_open"/);
    }
    const response = await fetch(`${fixture.url}/healthz`, { headers: { connection: "close" } });
    expect(response.status).toBe(200);
    // Idle clients do not answer pings, so the server closes them.
    await Promise.all(silent.map((client) => client.waitForClose()));
    await fixture.expectHealthy();
    await fixture.disconnectAll();
  });

  testSlowThreat("websocket-abuse", "times out unfinished handshakes", async ({ count }) => {
    const slow = Array.from({ length: 100 }, () => fixture.connect());
    count(slow.length);
    for (const [index, client] of slow.entries())
      client.send(handshake(pathOf(index), hostOf()).split("sec-websocket-version")[0] ?? "");
    const received = await Promise.all(slow.map((client) => client.waitForClose()));
    expect(received.every((text) => text.startsWith("HTTP/1.1 408 "))).toBe(true);
    await fixture.expectHealthy();
  });

  testThreat("websocket-abuse", "frees everything held for clients that disconnect early", async ({ count }) => {
    const partialMessages = PATHS.flatMap((path) => {
      const whole = handshake(path, hostOf());
      const long = makeFrame(TEXT, "x".repeat(1000));
      return [
        Buffer.from(whole.slice(0, -2)),
        ...[Buffer.alloc(0), makeFrame(TEXT, "x".repeat(1000), open), long.subarray(0, 500), makeFrame(CLOSE)].map(
          (bytes) => Buffer.concat([Buffer.from(whole), bytes]),
        ),
      ];
    });
    const visit = async (rounds: number): Promise<void> => {
      for (let round = 0; round < rounds; round++)
        await Promise.all(
          partialMessages.map(async (bytes) => {
            const client = fixture.connect();
            client.send(bytes);
            if (round % 2 === 0) await client.waitFor("HTTP/1.1", 100).catch(() => undefined);
            client.disconnect();
          }),
        );
    };
    await visit(ABUSE_SAMPLES.rounds);
    const before = await fixture.disconnectAll();
    await visit(ABUSE_SAMPLES.rounds * 4);
    const after = await fixture.disconnectAll();
    count(ABUSE_SAMPLES.rounds * 5 * partialMessages.length);
    expect((after.bytes - before.bytes) / MB).toBeLessThan(1);
    await fixture.expectHealthy();
  });
});
