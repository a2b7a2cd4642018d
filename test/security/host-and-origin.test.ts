// Names and origins to the letter, over HTTP and for sockets, written to the connection as no browser lets a test do it.
import { expect } from "vitest";
import type { LoomServerOptions, Notice } from "../../src/server/index.ts";
import { itHolds } from "./it-holds.ts";
import { openServer } from "./open-server.ts";
import { type RawAnswer, sendRaw, UPGRADE, writeHead } from "./raw-request.ts";

type Pairs = readonly (readonly [name: string, value: string])[];

interface Stage {
  readonly port: number;
  readonly notices: readonly Notice[];
  /** The same as a request and as a socket. */
  readonly knock: (headers: Pairs, target?: (path: string) => string) => Promise<readonly RawAnswer[]>;
}

async function setStage(options: Partial<LoomServerOptions> = {}): Promise<Stage> {
  const notices: Notice[] = [];
  const { port } = await openServer({ ...options, notify: (notice) => notices.push(notice) });
  return {
    port,
    notices,
    knock: async (headers, target = (path) => path) => [
      await sendRaw(port, writeHead(`GET ${target("/v1/sessions")} HTTP/1.1`, headers)),
      await sendRaw(port, writeHead(`GET ${target("/v1/ws")} HTTP/1.1`, [...headers, ...UPGRADE])),
    ],
  };
}

function expectRefused(answers: readonly RawAnswer[], statuses: readonly number[] = [403]): void {
  for (const { status, body, headers } of answers) {
    expect(statuses).toContain(status);
    expect(headers.has("access-control-allow-origin")).toBe(false);
    expect(body).not.toMatch(/localhost|127\.0\.0\.1|app\.example\.com|LOOM_/);
  }
}

itHolds("dns-rebinding", "a server is asked by its own names only", async ({ attempt }) => {
  const { port, knock } = await setStage({ hosts: ["loom.example.com"] });
  for (const host of [
    `localhost:${port}`,
    `127.0.0.1:${port}`,
    `[::1]:${port}`,
    `LOCALHOST:${port}`,
    "loom.example.com",
  ])
    await attempt(`${host} may`, async () => {
      expect((await knock([["host", host]])).map(({ status }) => status)).toEqual([200, 101]);
    });
  const strangers = [
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
  for (const host of strangers)
    await attempt(host, async () => expectRefused(await knock([["host", host]]), [400, 403, 404]));
  const here = ["host", `localhost:${port}`] as const;
  const others: readonly [why: string, headers: Pairs, target?: (path: string) => string][] = [
    ["two names, ours first", [here, ["host", "evil.example"]]],
    ["two names, ours last", [["host", "evil.example"], here]],
    ["a whole address of another name", [here], (path) => `http://evil.example${path}`],
    ["a whole address of another port", [here], (path) => `http://localhost:${port + 1}${path}`],
    [
      "a whole address of ours, by another name",
      [["host", "evil.example"]],
      (path) => `http://localhost:${port}${path}`,
    ],
    [
      "a name that was passed on by nobody",
      [
        ["host", "evil.example"],
        ["x-forwarded-host", `localhost:${port}`],
      ],
    ],
    [
      "a name that stands in `Forwarded`",
      [
        ["host", "evil.example"],
        ["forwarded", `host=localhost:${port}`],
      ],
    ],
  ];
  for (const [why, headers, target] of others)
    await attempt(why, async () => expectRefused(await knock(headers, target), [400, 403, 404]));
  await attempt("what nobody trusted passes on changes nothing", async () => {
    const answers = await knock([here, ["x-forwarded-host", "evil.example"], ["origin", "http://evil.example"]]);
    expectRefused(answers);
  });
});

itHolds("foreign-origins", "pages of others may not ask, however their names look", async ({ attempt }) => {
  const { port, knock } = await setStage({ origins: ["https://app.example.com"] });
  const host = ["host", `localhost:${port}`] as const;
  const own = `http://localhost:${port}`;
  for (const origin of [undefined, own, "https://app.example.com"])
    await attempt(`${origin ?? "no origin"} may`, async () => {
      const answers = await knock([host, ...(origin === undefined ? [] : [["origin", origin] as const])]);
      expect(answers.map(({ status }) => status)).toEqual([200, 101]);
      const told = answers[0]?.headers.get("access-control-allow-origin");
      expect(told).toBe(origin === "https://app.example.com" ? origin : null);
      expect(answers[0]?.headers.has("access-control-allow-credentials")).toBe(false);
    });
  const strangers = [
    "null",
    "https://evil.example",
    "http://localhost",
    `http://localhost:${port + 1}`,
    `https://localhost:${port}`,
    `http://127.0.0.1:${port}`,
    `http://[::1]:${port}`,
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
  for (const origin of strangers)
    await attempt(origin, async () => expectRefused(await knock([host, ["origin", origin]])));
  await attempt("two origins, ours first", async () =>
    expectRefused(await knock([host, ["origin", own], ["origin", "https://evil.example"]])),
  );
  for (const site of ["cross-site", "same-site"])
    await attempt(`a page that hides its origin: ${site}`, async () =>
      expectRefused(await knock([host, ["sec-fetch-site", site]])),
    );
});

itHolds(
  "foreign-origins",
  "whoever runs the server is told what to add, and nobody can flood that",
  async ({ attempt }) => {
    const { port, notices, knock } = await setStage();
    const host = ["host", `localhost:${port}`] as const;
    await attempt("an origin", async () => {
      for (let n = 0; n < 3; n++) await knock([host, ["origin", "https://app.example.com"]]);
      expect(notices).toEqual([
        {
          what: "origin_refused",
          name: "https://app.example.com",
          option: "origins",
          allow: "https://app.example.com",
        },
      ]);
    });
    await attempt("a name", async () => {
      await knock([["host", "loom.lan"]]);
      expect(notices[1]).toEqual({ what: "host_refused", name: "loom.lan", option: "hosts", allow: "loom.lan" });
    });
    await attempt("many names", async () => {
      for (let n = 0; n < 150; n++) await sendRaw(port, `GET / HTTP/1.1\r\nhost: n${n}.example\r\n\r\n`);
      expect(notices).toHaveLength(100);
    });
  },
);
