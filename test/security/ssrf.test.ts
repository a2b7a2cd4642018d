// Requests to internal addresses through the fetch tool and the image endpoint: this machine, private networks and
// cloud metadata services. Real servers on internal addresses record whether they were reached.
import type { LookupAddress } from "node:dns";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect } from "vitest";
import { isLoomError } from "../../src/protocol/index.ts";
import { HttpRefusal } from "../../src/server/api/refuse-request.ts";
import { createGates } from "../../src/server/api/gates.ts";
import { LOCAL } from "../../src/server/auth/principal.ts";
import { createImageOperation } from "../../src/server/endpoints/images.ts";
import type { ApiCall } from "../../src/server/api/operation.ts";
import type { ServerCore } from "../../src/server/api/server-core.ts";
import { SERVER_LIMITS } from "../../src/server/guard/server-limits.ts";
import type { OpenExchange } from "../../src/tools/fetch/open-exchange.ts";
import { createFetchTool, type FetchToolOptions } from "../../src/tools/fetch/create-fetch-tool.ts";
import type { ToolOutcome } from "../../src/tools/tool.ts";
import { callOf, createToolRecorder, run } from "../tool-recorder.ts";
import {
  disguiseUrls,
  INTERNAL_IPV4,
  INTERNAL_IPV6,
  INTERNAL_NAMES,
  OTHER_PORTS,
  OTHER_SCHEMES,
  spellHosts,
} from "./addresses.ts";
import { testThreat } from "./test-threat.ts";

const SECRET = "CANARY-INSIDE";
const PUBLIC: readonly LookupAddress[] = [{ address: "93.184.216.34", family: 4 }];
const LOOPBACK: readonly LookupAddress[] = [{ address: "127.0.0.1", family: 4 }];

/** `inside` must never be reached; `outside` plays a public server that redirects. */
let inside: Server;
let outside: Server;
let internalPort: number;
let publicPort: number;
let reached: string[] = [];
let location = "/";
let status = 302;

beforeAll(async () => {
  inside = createServer((asked, response) => {
    reached.push(`${asked.method} ${asked.headers.host} ${asked.url}`);
    response.end(SECRET);
  });
  outside = createServer((_, response: ServerResponse) => {
    response.writeHead(status, { location }).end();
  });
  [internalPort, publicPort] = await Promise.all([listen(inside), listen(outside)]);
});
beforeEach(() => {
  reached = [];
});
afterAll(() => {
  for (const server of [inside, outside]) {
    server.closeAllConnections();
    server.close();
  }
});

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

/** Calls the fetch tool with approval for every call. The port of the internal server is allowed. */
function use(url: string, options: FetchToolOptions = {}, more: object = {}): Promise<ToolOutcome> {
  const tool = createFetchTool({
    ports: [80, 443, internalPort, publicPort],
    allow: [`web.test:${publicPort}`],
    resolve: async (host) => (host === "web.test" ? LOOPBACK : resolveInternal(host)),
    timeoutMs: 2000,
    ...options,
  });
  return run(tool, createToolRecorder(), callOf({ url, ...more }, "http_fetch"));
}

/** Resolves every host to this machine, except `public.test`, which must not be contacted. */
function resolveInternal(host: string): readonly LookupAddress[] {
  if (host === "public.test") throw new Error("public.test must not be contacted");
  return LOOPBACK;
}

async function expectRefused(work: Promise<ToolOutcome>): Promise<void> {
  const { isError, errorCode = "", result } = await work;
  expect([isError, reached, result.includes(SECRET)]).toEqual([true, [], false]);
  expect(["url_refused", "tool_failed", "invalid_arguments"]).toContain(errorCode);
}

function listUrls(): readonly string[] {
  const hosts = [
    ...INTERNAL_IPV4.flatMap(spellHosts),
    ...INTERNAL_IPV6.map((address) => `[${address}]`),
    ...INTERNAL_NAMES,
  ];
  return hosts.flatMap((host) => [`http://${host}:${internalPort}/`, `https://${host}/`]);
}

describe("the fetch tool", () => {
  testThreat("ssrf", "reaches no internal address in any spelling", async ({ attempt }) => {
    for (const url of listUrls())
      await attempt(url, async () => {
        const outcome = await use(url);
        await expectRefused(Promise.resolve(outcome));
        // Refused for its address, not because the connection failed.
        expect(outcome.errorCode).toBe("url_refused");
      });
  });

  testThreat("ssrf", "is not deceived by disguised URLs", async ({ attempt }) => {
    const hosts = ["127.0.0.1", "[::ffff:127.0.0.1]", "localhost", "2130706433"];
    for (const url of hosts.flatMap((host) => disguiseUrls(host, `:${internalPort}`)))
      await attempt(url, () => expectRefused(use(url)));
  });

  testThreat("ssrf", "allows only http and https on permitted ports", async ({ attempt }) => {
    for (const url of OTHER_SCHEMES) await attempt(url, () => expectRefused(use(url)));
    for (const port of OTHER_PORTS)
      await attempt(`port ${port}`, async () => {
        const resolve = async (): Promise<readonly LookupAddress[]> => PUBLIC;
        expect((await use(`http://public.test:${port}/`, { resolve })).errorCode).toBe("url_refused");
      });
  });

  testThreat("ssrf", "does not follow redirects to internal addresses", async ({ attempt }) => {
    const targets = [
      ...INTERNAL_IPV4.slice(0, 10).flatMap((address) => spellHosts(address).slice(0, 30)),
      ...INTERNAL_IPV6.map((address) => `[${address}]`),
      ...INTERNAL_NAMES,
    ].map((host) => `http://${host}:${internalPort}/`);
    const others = [
      `//127.0.0.1:${internalPort}/`,
      `\\\\127.0.0.1:${internalPort}\\`,
      `http:\\\\127.1:${internalPort}/`,
      ...OTHER_SCHEMES,
    ];
    let turn = 0;
    for (const to of [...targets, ...others]) {
      // Node does not send other characters in a header.
      if (/[^\u0020-\u007e]/.test(to)) continue;
      await attempt(to, async () => {
        location = to;
        status = [301, 302, 303, 307, 308][turn++ % 5] ?? 302;
        await expectRefused(use(`http://web.test:${publicPort}/`));
      });
    }
  });

  testThreat("ssrf", "resolves a host once and connects to the checked address", async ({ attempt }) => {
    await attempt("a host with a public and an internal address", async () => {
      for (const both of [
        [...PUBLIC, ...LOOPBACK],
        [...LOOPBACK, ...PUBLIC],
      ])
        expect((await use(`http://mixed.test:${internalPort}/`, { resolve: async () => both })).errorCode).toBe(
          "url_refused",
        );
    });
    await attempt("a host that resolves differently the second time", async () => {
      let lookups = 0;
      const resolve = async (): Promise<readonly LookupAddress[]> =>
        lookups++ === 0 ? [{ address: "127.0.0.1", family: 4 }] : [{ address: "127.0.0.2", family: 4 }];
      status = 200;
      expect((await use(`http://web.test:${publicPort}/`, { resolve })).isError).toBe(false);
      expect(lookups).toBe(1);
    });
    await attempt("a redirect to a host that resolves to an internal address", async () => {
      let lookups = 0;
      const resolve = async (): Promise<readonly LookupAddress[]> => {
        lookups++;
        return LOOPBACK;
      };
      [status, location] = [302, `http://again.test:${internalPort}/`];
      await expectRefused(use(`http://web.test:${publicPort}/`, { resolve }));
      expect(lookups).toBe(2);
    });
    await attempt("invalid addresses from the resolver", async () => {
      for (const address of ["", "127.1", "localhost", "::1%lo", "0x7f000001", "not an address"])
        expect(
          (await use(`http://odd.test:${internalPort}/`, { resolve: async () => [{ address, family: 4 }] })).isError,
        ).toBe(true);
      expect(reached).toEqual([]);
    });
  });

  testThreat("ssrf", "does not forward a body to another host", async ({ attempt }) => {
    for (const code of [307, 308])
      await attempt(`POST, ${code}`, async () => {
        [status, location] = [code, `http://127.0.0.1:${internalPort}/`];
        const more = { method: "POST", body: "private text" };
        await expectRefused(use(`http://web.test:${publicPort}/`, { methods: ["POST"] }, more));
      });
  });
});

describe("the image endpoint", () => {
  let connected: string[] = [];
  let redirect: string | undefined;

  /** Records the addresses it would connect to, and connects to a local server instead. */
  const exchange: OpenExchange = ({ url, addresses }, { method }, signal) => {
    const isFirst = connected.length === 0;
    connected.push(...addresses.map(({ address }) => address));
    [status, location] = isFirst && redirect !== undefined ? [302, redirect] : [200, "/"];
    const options = { host: "127.0.0.1", port: publicPort, path: url.pathname, method, signal, agent: false as const };
    return new Promise<IncomingMessage>((resolve, reject) => request(options, resolve).on("error", reject).end());
  };

  async function get(url: string, resolve: (host: string) => Promise<readonly LookupAddress[]>): Promise<unknown> {
    connected = [];
    const closing = new AbortController().signal;
    const core = { limits: SERVER_LIMITS, gates: createGates(SERVER_LIMITS), closing, report: () => "id" };
    const call = {
      request: new Request("http://127.0.0.1/v1/images"),
      caller: { principal: LOCAL },
      query: { url },
      signal: closing,
    };
    const operation = createImageOperation({ exchange, resolve });
    try {
      await operation.handle(core as unknown as ServerCore, call as unknown as ApiCall<"Empty", "Empty">);
      return undefined;
    } catch (error) {
      const why = error instanceof HttpRefusal ? error.refused : error;
      return isLoomError(why, "image_refused") ? why.details["reason"] : why;
    }
  }

  const inner = async (): Promise<readonly LookupAddress[]> => LOOPBACK;
  const expectOut = (): void => expect(connected).toEqual(["93.184.216.34"]);

  testThreat("ssrf", "reaches no internal address in any spelling", async ({ attempt }) => {
    const hosts = [
      ...INTERNAL_IPV4.flatMap(spellHosts),
      ...INTERNAL_IPV6.map((address) => `[${address}]`),
      ...INTERNAL_NAMES,
    ];
    for (const host of hosts)
      await attempt(host, async () => {
        expect(await get(`https://${host}/a.png`, inner)).toBe("url_refused");
        expect(connected).toEqual([]);
      });
    for (const url of [
      ...OTHER_SCHEMES,
      ...disguiseUrls("127.0.0.1", ""),
      ...OTHER_PORTS.map((port) => `https://public.test:${port}/`),
    ])
      await attempt(url, async () => {
        expect(await get(url, async () => PUBLIC)).toBe("url_refused");
        expect(connected).toEqual([]);
      });
  });

  testThreat("ssrf", "does not follow redirects or changed DNS records to internal addresses", async ({ attempt }) => {
    const hosts = [
      ...INTERNAL_IPV4.flatMap((address) => spellHosts(address).slice(0, 8)),
      ...INTERNAL_IPV6.map((address) => `[${address}]`),
    ];
    for (const to of [
      ...hosts.map((host) => `https://${host}/`),
      "http://public.test/",
      "file:///etc/passwd",
      "//127.0.0.1/",
    ])
      await attempt(to, async () => {
        redirect = to;
        expect(await get("https://public.test/", async (host) => (host === "public.test" ? PUBLIC : LOOPBACK))).toBe(
          "url_refused",
        );
        expectOut();
      });
    await attempt("the second lookup of the same host", async () => {
      redirect = "https://public.test/again";
      let lookups = 0;
      expect(await get("https://public.test/", async () => (lookups++ === 0 ? PUBLIC : LOOPBACK))).toBe("url_refused");
      expectOut();
    });
    redirect = undefined;
  });
});
