// Exact comparison of `Host` and `Origin`, for requests and WebSockets. The requests are written to raw connections,
// because browsers and clients do not allow such headers.
import { expect } from "vitest";
import type { LoomServerOptions } from "../../src/server/index.ts";
import type { Notice } from "../../src/server/guard/notice.ts";
import { testThreat } from "./test-threat.ts";
import { openServer } from "./open-server.ts";
import { type RawResponse, sendRaw, UPGRADE, writeHead } from "./raw-request.ts";

type Pairs = readonly (readonly [name: string, value: string])[];

interface Fixture {
  readonly port: number;
  readonly notices: readonly Notice[];
  /** Sends the headers with a request and with a WebSocket upgrade. */
  readonly sendBoth: (headers: Pairs, target?: (path: string) => string) => Promise<readonly RawResponse[]>;
}

async function createFixture(options: Partial<LoomServerOptions> = {}): Promise<Fixture> {
  const notices: Notice[] = [];
  const { port } = await openServer({ ...options, notify: (notice) => notices.push(notice) });
  return {
    port,
    notices,
    sendBoth: async (headers, target = (path) => path) => [
      await sendRaw(port, writeHead(`GET ${target("/v1/sessions")} HTTP/1.1`, headers)),
      await sendRaw(port, writeHead(`GET ${target("/v1/ws")} HTTP/1.1`, [...headers, ...UPGRADE])),
    ],
  };
}

const LOCAL_SETTINGS = ["dev-origins", "origins"];

function expectRefused(answers: readonly RawResponse[], statuses: readonly number[] = [403]): void {
  for (const { status, body, headers } of answers) {
    expect(statuses).toContain(status);
    expect(headers.has("access-control-allow-origin")).toBe(false);
    expect(body).not.toMatch(/localhost|127\.0\.0\.1|app\.example\.com|LOOM_/);
  }
}

testThreat("dns-rebinding", "accepts only the server's own host names", async ({ attempt }) => {
  const { port, sendBoth } = await createFixture({ hosts: ["loom.example.com"] });
  for (const host of [
    `localhost:${port}`,
    `127.0.0.1:${port}`,
    `[::1]:${port}`,
    `LOCALHOST:${port}`,
    "loom.example.com",
  ])
    await attempt(`${host} is accepted`, async () => {
      expect((await sendBoth([["host", host]])).map(({ status }) => status)).toEqual([200, 101]);
    });
  const otherHosts = [
    "evil.example",
    `evil.example:${port}`,
    "localhost",
    `localhost:${port + 1}`,
    `localhost.:${port}`,
    `localhost.evil.example:${port}`,
    `evil-localhost:${port}`,
    `xlocalhost:${port}`,
    `localhost:${port}.evil.example`,
    `evil@localhost:${port}`,
    `localhost:${port}@evil.example`,
    `localhost:${port},evil.example`,
    `0.0.0.0:${port}`,
    `127.1:${port}`,
    `127.0.0.2:${port}`,
    `2130706433:${port}`,
    `0x7f000001:${port}`,
    `[::]:${port}`,
    `[0:0:0:0:0:0:0:1]:${port}`,
    `[::ffff:127.0.0.1]:${port}`,
    `loom.example.com:${port}`,
    "loom.example.com.",
    "x.loom.example.com",
    "loom.example.com.evil.example",
  ];
  for (const host of otherHosts)
    await attempt(host, async () => expectRefused(await sendBoth([["host", host]]), [400, 403, 404]));
  const here = ["host", `localhost:${port}`] as const;
  const otherRequests: readonly [why: string, headers: Pairs, target?: (path: string) => string][] = [
    ["two hosts, ours first", [here, ["host", "evil.example"]]],
    ["two hosts, ours last", [["host", "evil.example"], here]],
    ["an absolute URL with another host", [here], (path) => `http://evil.example${path}`],
    ["an absolute URL with another port", [here], (path) => `http://localhost:${port + 1}${path}`],
    [
      "an absolute URL with our host and another Host header",
      [["host", "evil.example"]],
      (path) => `http://localhost:${port}${path}`,
    ],
    [
      "our host in X-Forwarded-Host without a trusted proxy",
      [
        ["host", "evil.example"],
        ["x-forwarded-host", `localhost:${port}`],
      ],
    ],
    [
      "our host in Forwarded",
      [
        ["host", "evil.example"],
        ["forwarded", `host=localhost:${port}`],
      ],
    ],
  ];
  for (const [why, headers, target] of otherRequests)
    await attempt(why, async () => expectRefused(await sendBoth(headers, target), [400, 403, 404]));
  await attempt("ignores X-Forwarded-Host without a trusted proxy", async () => {
    const answers = await sendBoth([here, ["x-forwarded-host", "evil.example"], ["origin", "http://evil.example"]]);
    expectRefused(answers);
  });
});

testThreat("foreign-origins", "rejects origins that are not allowed, however similar", async ({ attempt }) => {
  const { port, sendBoth } = await createFixture({ origins: ["https://app.example.com"] });
  const host = ["host", `localhost:${port}`] as const;
  const own = `http://localhost:${port}`;
  for (const origin of [undefined, own, "https://app.example.com"])
    await attempt(`${origin ?? "no origin"} is accepted`, async () => {
      const answers = await sendBoth([host, ...(origin === undefined ? [] : [["origin", origin] as const])]);
      expect(answers.map(({ status }) => status)).toEqual([200, 101]);
      const allowed = answers[0]?.headers.get("access-control-allow-origin");
      expect(allowed).toBe(origin === "https://app.example.com" ? origin : null);
      expect(answers[0]?.headers.has("access-control-allow-credentials")).toBe(false);
    });
  const localOrigins = [
    "http://localhost",
    `http://localhost:${port + 1}`,
    `https://localhost:${port}`,
    `http://127.0.0.1:${port}`,
    `http://[::1]:${port}`,
  ];
  for (const origin of localOrigins)
    await attempt(`${origin} reads nothing but the refusal`, async () => {
      const [answer, upgrade] = await sendBoth([host, ["origin", origin]]);
      expect([answer?.status, answer?.headers.get("access-control-allow-origin")]).toEqual([403, origin]);
      expect(answer?.headers.has("access-control-allow-credentials")).toBe(false);
      expect(JSON.parse(answer?.body ?? "")).toMatchObject({
        code: "forbidden",
        details: { settings: LOCAL_SETTINGS },
      });
      expectRefused(upgrade === undefined ? [] : [upgrade]);
      const preflight = [host, ["origin", origin], ["access-control-request-method", "POST"]] as const;
      const asked = await sendRaw(port, writeHead("OPTIONS /v1/sessions HTTP/1.1", preflight));
      expect([asked.status, asked.headers.has("access-control-allow-methods")]).toEqual([403, false]);
      // The name of a server that is reached by DNS rebinding is not one of this machine.
      expectRefused(
        await sendBoth([
          ["host", `evil.example:${port}`],
          ["origin", origin],
        ]),
        [403],
      );
    });
  const otherOrigins = [
    "null",
    "https://evil.example",
    `http://localhost.evil.example:${port}`,
    `http://evil-localhost:${port}`,
    `http://localhost:${port}0`,
    `http://localhost.:${port}`,
    `http://evil@localhost:${port}`,
    `http://localhost:${port}@evil.example`,
    `http://localhost:${port}/`,
    `HTTP://LOCALHOST:${port}`,
    `${own}, ${own}`,
    `ws://localhost:${port}`,
    "file://",
    "http://app.example.com",
    "https://app.example.com:8443",
    "https://app.example.com.evil.example",
    "https://xapp.example.com",
    "https://x.app.example.com",
    "https://APP.example.com",
    "https://app.example.com.",
    "https://app.example.com/",
    "*",
  ];
  for (const origin of otherOrigins)
    await attempt(origin, async () => expectRefused(await sendBoth([host, ["origin", origin]])));
  await attempt("two origins, ours first", async () =>
    expectRefused(await sendBoth([host, ["origin", own], ["origin", "https://evil.example"]])),
  );
  for (const site of ["cross-site", "same-site"])
    await attempt(`a page that hides its origin: ${site}`, async () =>
      expectRefused(await sendBoth([host, ["sec-fetch-site", site]])),
    );
});

testThreat(
  "foreign-origins",
  "reports each refused host and origin once, and at most 100 of them",
  async ({ attempt }) => {
    const { port, notices, sendBoth } = await createFixture();
    const host = ["host", `localhost:${port}`] as const;
    await attempt("an origin", async () => {
      for (let n = 0; n < 3; n++) await sendBoth([host, ["origin", "https://app.example.com"]]);
      expect(notices).toEqual([
        {
          kind: "origin_refused",
          name: "https://app.example.com",
          option: "origins",
          allow: "https://app.example.com",
        },
      ]);
    });
    await attempt("a name", async () => {
      await sendBoth([["host", "loom.lan"]]);
      expect(notices[1]).toEqual({ kind: "host_refused", name: "loom.lan", option: "hosts", allow: "loom.lan" });
    });
    await attempt("many hosts", async () => {
      for (let n = 0; n < 150; n++) await sendRaw(port, `GET / HTTP/1.1\r\nhost: n${n}.example\r\n\r\n`);
      expect(notices).toHaveLength(100);
    });
  },
);
