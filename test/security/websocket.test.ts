/**
 * Sockets that are spoken to as nobody should, byte by byte, on both paths: whoever does it is closed with the code that
 * says why, nobody else notices, and what was held on their account is let go of. More rounds in `npm run test:long`.
 */
import { deflateRawSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { ABUSE_SAMPLES } from "../sampling.ts";
import { type Abuser, type AbuseStage, setAbuseStage } from "./abuse-stage.ts";
import { itHolds } from "./it-holds.ts";
import { makeFrame, OPCODE, readCloseCode, readFrames } from "./raw-frames.ts";

const PATHS = ["/v1/ws", "/agentOS/v1/ws_stream"];
const MB = 1024 * 1024;
/** In characters; a socket takes four times as many bytes. */
const MAX_INBOUND = 64 * 1024;
const MAX_BYTES = 4 * MAX_INBOUND;
const MAX_SOCKETS = 200;
const LIMITS = {
  maxInboundLength: MAX_INBOUND,
  maxSockets: MAX_SOCKETS,
  // A machine that is busy with hundreds of megabytes of abuse may be slow to read a head.
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

/** What is sent, and the code it is closed with. */
const SHAPES: readonly (readonly [string, readonly Buffer[], number])[] = [
  ["a continuation of nothing", [makeFrame(MORE, "x")], PROTOCOL_ERROR],
  ["an open continuation of nothing", [makeFrame(MORE, "x", open)], PROTOCOL_ERROR],
  ["a text within a text", [makeFrame(TEXT, "a", open), makeFrame(TEXT, "b")], PROTOCOL_ERROR],
  ["bytes within a text", [makeFrame(TEXT, "a", open), makeFrame(BINARY, "b")], PROTOCOL_ERROR],
  ["a text without a mask", [makeFrame(TEXT, "{}", { isMasked: false })], PROTOCOL_ERROR],
  ["a ping without a mask", [makeFrame(PING, "", { isMasked: false })], PROTOCOL_ERROR],
  ...[1, 2, 3, 4, 5, 6, 7].map(
    (reserved) => [`reserved bits ${reserved}`, [makeFrame(TEXT, "{}", { reserved })], PROTOCOL_ERROR] as const,
  ),
  ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map(
    (opcode) => [`opcode ${opcode}`, [makeFrame(opcode, "x")], PROTOCOL_ERROR] as const,
  ),
  ["a ping in pieces", [makeFrame(PING, "x", open)], PROTOCOL_ERROR],
  ["a close in pieces", [makeFrame(CLOSE, "", open)], PROTOCOL_ERROR],
  ["a long ping", [makeFrame(PING, "x".repeat(126))], PROTOCOL_ERROR],
  ["a long pong", [makeFrame(OPCODE.pong, "x".repeat(70_000))], PROTOCOL_ERROR],
  ["a long close", [makeFrame(CLOSE, Buffer.alloc(126, 3))], PROTOCOL_ERROR],
  ["half a code", [makeFrame(CLOSE, "x")], PROTOCOL_ERROR],
  ...[0, 1, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535].map(
    (code) => [`close ${code}`, [closeWith(code)], PROTOCOL_ERROR] as const,
  ),
  ["a reason that is no text", [closeWith(1000, bytesOf("c3"))], NOT_UTF8],
  ...BAD_UTF8.map((hex) => [`the text ${hex}`, [makeFrame(TEXT, bytesOf(hex))], NOT_UTF8] as const),
  ...BAD_UTF8.map(
    (hex) =>
      [
        `the text ${hex}, in pieces`,
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
    "a packed bomb",
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

let stage: AbuseStage;
beforeAll(async () => {
  stage = await setAbuseStage(LIMITS);
});
afterAll(() => stage.close());

const hostOf = () => ({ host: `127.0.0.1:${stage.port}` });

async function enter(path: string): Promise<Abuser> {
  const abuser = stage.connect();
  abuser.send(handshake(path, hostOf()));
  await abuser.until("\r\n\r\n");
  expect(abuser.said()).toMatch(/^HTTP\/1\.1 101 /);
  return abuser;
}

describe.for(PATHS)("%s", (path) => {
  itHolds("websocket-abuse", "closes whoever breaks the protocol, and says why", async ({ attempt }) => {
    for (const [name, frames, code] of SHAPES)
      await attempt(name, async () => {
        const abuser = await enter(path);
        abuser.send(...frames);
        expect(readCloseCode(await abuser.closed())).toBe(code);
      });
    await stage.expectUp();
    await stage.expectGone();
  });

  itHolds("websocket-abuse", "refuses what is too long or no text, and goes on", async ({ attempt }) => {
    const abuser = await enter(path);
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
        const before = readFrames(abuser.said()).length;
        abuser.send(frame);
        await expect.poll(() => readFrames(abuser.said()).length, { interval: 2 }).toBeGreaterThan(before);
        expect(readCloseCode(abuser.said())).toBeUndefined();
      });
    abuser.send(makeFrame(PING, "still there"));
    await abuser.until("still there");
    await stage.expectGone();
  });

  itHolds("websocket-abuse", "holds little for one who never reads, whatever he sends", async ({ attempt }) => {
    const before = await stage.expectGone();
    const many = (frame: Buffer): Buffer => Buffer.concat(Array.from({ length: MB / frame.length }, () => frame));
    /** What is sent again and again, and the megabytes that may wait on its account: a short text takes many times its length. */
    const floods: { readonly [name: string]: readonly [Buffer, number] } = {
      "long pings": [makeFrame(PING, "x".repeat(125)), 10],
      "short pings": [makeFrame(PING), 10],
      pongs: [makeFrame(OPCODE.pong, "x".repeat(125)), 10],
      "frames that are refused": [makeFrame(TEXT, "no"), 32],
      ...(ABUSE_SAMPLES.isWhole
        ? { bytes: [makeFrame(BINARY, "x"), 32], "pings of the protocol": [makeFrame(TEXT, '{"type":"ping"}'), 32] }
        : {}),
    };
    for (const [name, [frame, bound]] of Object.entries(floods))
      await attempt(name, async () => {
        const abuser = await enter(path);
        abuser.socket.pause();
        const bytes = many(frame);
        for (let sent = 0; sent < ABUSE_SAMPLES.floodBytes && !abuser.socket.destroyed; sent += bytes.length) {
          // Nobody takes it any more: that is as good.
          if (!abuser.socket.write(bytes) && !(await abuser.drained(150))) break;
        }
        const { bytes: held } = await stage.measure();
        expect((held - before.bytes) / MB).toBeLessThan(bound);
        abuser.leave();
        await stage.expectUp();
      });
    await stage.expectGone();
  });

  itHolds("websocket-abuse", "does not gather a frame that comes byte by byte for ever", async () => {
    const before = await stage.expectGone();
    const abuser = await enter(path);
    abuser.socket.setNoDelay(true);
    const frame = makeFrame(TEXT, "x".repeat(MAX_BYTES - 1));
    for (let at = 0; at < 20_000 && !abuser.socket.destroyed; at++) {
      abuser.socket.write(frame.subarray(at, at + 1));
      if (at % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    const { bytes } = await stage.measure();
    expect((bytes - before.bytes) / MB).toBeLessThan(3);
    await stage.expectUp();
  });

  itHolds("websocket-abuse", "lets nobody in by a handshake that is none", async ({ attempt }) => {
    const shapes: { readonly [name: string]: string } = {
      "no key": handshake(path, { ...hostOf(), "sec-websocket-key": undefined }),
      "a short key": handshake(path, { ...hostOf(), "sec-websocket-key": "abc" }),
      "an old version": handshake(path, { ...hostOf(), "sec-websocket-version": "7" }),
      "no version": handshake(path, { ...hostOf(), "sec-websocket-version": undefined }),
      "a strange version": handshake(path, { ...hostOf(), "sec-websocket-version": "13, 13" }),
      "no host": handshake(path, { host: undefined }),
      "another host": handshake(path, { host: "evil.example" }),
      "a POST": handshake(path, hostOf()).replace("GET", "POST"),
      "a protocol that is no word": handshake(path, { ...hostOf(), "sec-websocket-protocol": "a,,b" }),
      "another upgrade": handshake(path, { ...hostOf(), upgrade: "h2c" }),
      "two upgrades": handshake(path, { ...hostOf(), upgrade: "h2c, websocket" }),
      "an address that is none": handshake("http://[", hostOf()),
      "another path": handshake(`${path}/..`, hostOf()),
      "an encoded path": handshake(path.replace("/v1", "/%76%31"), hostOf()),
    };
    for (const [name, text] of Object.entries(shapes))
      await attempt(name, async () => {
        const abuser = stage.connect();
        abuser.send(text);
        await abuser.until(/^HTTP\/1\.1 \d{3}/);
        expect(abuser.said().slice(9, 12)).toMatch(/^[245]\d\d$/);
        abuser.leave();
      });
    await stage.expectUp();
  });

  itHolds("websocket-abuse", "packs nothing, whatever is offered", async ({ attempt }) => {
    const offers = [
      "permessage-deflate",
      "permessage-deflate; client_max_window_bits=8",
      "x-webkit-deflate-frame",
      "=;=",
    ];
    for (const offer of offers)
      await attempt(offer, async () => {
        const abuser = stage.connect();
        abuser.send(handshake(path, { ...hostOf(), "sec-websocket-extensions": offer }));
        await abuser.until("\r\n\r\n");
        expect(abuser.said()).toMatch(/^HTTP\/1\.1 101 /);
        expect(abuser.said().toLowerCase()).not.toContain("sec-websocket-extensions");
        abuser.send(makeFrame(TEXT, deflateRawSync("x"), { reserved: 4 }));
        expect(readCloseCode(await abuser.closed())).toBe(PROTOCOL_ERROR);
      });
  });
});

describe("many sockets", () => {
  const pathOf = (index: number): string => PATHS[index % PATHS.length] ?? "";

  itHolds(
    "websocket-abuse",
    "takes so many that say nothing, and takes others when they are gone",
    async ({ count }) => {
      await stage.expectGone();
      const silent = await Promise.all(Array.from({ length: MAX_SOCKETS }, (_, index) => enter(pathOf(index))));
      count(silent.length);
      for (const path of PATHS) {
        const refused = stage.connect();
        refused.send(handshake(path, hostOf()));
        expect(await refused.closed()).toMatch(/^HTTP\/1\.1 503 [^]*"code":"too_many_open"/);
      }
      const response = await fetch(`${stage.url}/healthz`, { headers: { connection: "close" } });
      expect(response.status).toBe(200);
      // They do not answer pings either.
      await Promise.all(silent.map((abuser) => abuser.closed()));
      await stage.expectUp();
      await stage.expectGone();
    },
  );

  itHolds("websocket-abuse", "does not wait for handshakes that are never finished", async ({ count }) => {
    const slow = Array.from({ length: 100 }, () => stage.connect());
    count(slow.length);
    for (const [index, abuser] of slow.entries())
      abuser.send(handshake(pathOf(index), hostOf()).split("sec-websocket-version")[0] ?? "");
    const said = await Promise.all(slow.map((abuser) => abuser.closed()));
    expect(said.every((text) => text.startsWith("HTTP/1.1 408 "))).toBe(true);
    await stage.expectUp();
  });

  itHolds("websocket-abuse", "keeps nothing of those who left in the middle", async ({ count }) => {
    const middles = PATHS.flatMap((path) => {
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
          middles.map(async (bytes) => {
            const abuser = stage.connect();
            abuser.send(bytes);
            if (round % 2 === 0) await abuser.until("HTTP/1.1", 100).catch(() => undefined);
            abuser.leave();
          }),
        );
    };
    await visit(ABUSE_SAMPLES.rounds);
    const before = await stage.expectGone();
    await visit(ABUSE_SAMPLES.rounds * 4);
    const after = await stage.expectGone();
    count(ABUSE_SAMPLES.rounds * 5 * middles.length);
    expect((after.bytes - before.bytes) / MB).toBeLessThan(1);
    await stage.expectUp();
  });
});
