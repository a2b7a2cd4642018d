// Requests to where a model has no business: this machine, its networks, the cloud's services for its guests. Against the
// fetch tool and the image door, with real servers inside that nobody must reach.
import type { LookupAddress } from "node:dns";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect } from "vitest";
import { isLoomError } from "../../src/protocol/index.ts";
import { HttpRefusal } from "../../src/server/http/refuse-request.ts";
import { createImageOperation } from "../../src/server/endpoints/images.ts";
import type { ApiCall } from "../../src/server/api/operation.ts";
import type { ServerCore } from "../../src/server/server-core.ts";
import { SERVER_LIMITS } from "../../src/server/server-limits.ts";
import type { OpenExchange } from "../../src/tools/fetch/open-exchange.ts";
import { createFetchTool, type FetchToolOptions, type ToolOutcome } from "../../src/tools/index.ts";
import { callOf, record, run } from "../tool-recorder.ts";
import { dressUrls, INNER_IPV4, INNER_IPV6, INNER_NAMES, OTHER_PORTS, OTHER_SCHEMES, spellHosts } from "./addresses.ts";
import { itHolds } from "./it-holds.ts";

const SECRET = "CANARY-INSIDE";
const PUBLIC: readonly LookupAddress[] = [{ address: "93.184.216.34", family: 4 }];
const LOOPBACK: readonly LookupAddress[] = [{ address: "127.0.0.1", family: 4 }];

/** What must not be reached, and a page out on the web that sends everybody there. */
let inside: Server;
let outside: Server;
let innerPort: number;
let outerPort: number;
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
  [innerPort, outerPort] = await Promise.all([listen(inside), listen(outside)]);
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

/** As a model asks, with a user who agrees to everything, and on the port where the secret is. */
function use(url: string, options: FetchToolOptions = {}, more: object = {}): Promise<ToolOutcome> {
  const tool = createFetchTool({
    ports: [80, 443, innerPort, outerPort],
    allow: [`web.test:${outerPort}`],
    resolve: async (host) => (host === "web.test" ? LOOPBACK : resolveInner(host)),
    timeoutMs: 2000,
    ...options,
  });
  return run(tool, record(), callOf({ url, ...more }, "http_fetch"));
}

/** All that is no address means this machine; `public.test` would be out there, where nobody goes in a test. */
function resolveInner(host: string): readonly LookupAddress[] {
  if (host === "public.test") throw new Error("not in a test");
  return LOOPBACK;
}

async function expectRefused(work: Promise<ToolOutcome>): Promise<void> {
  const { isError, errorCode = "", result } = await work;
  expect([isError, reached, result.includes(SECRET)]).toEqual([true, [], false]);
  expect(["url_refused", "tool_failed", "invalid_arguments"]).toContain(errorCode);
}

function listUrls(): readonly string[] {
  const hosts = [...INNER_IPV4.flatMap(spellHosts), ...INNER_IPV6.map((address) => `[${address}]`), ...INNER_NAMES];
  return hosts.flatMap((host) => [`http://${host}:${innerPort}/`, `https://${host}/`]);
}

describe("the fetch tool", () => {
  itHolds("ssrf", "reaches nothing inside, however it is written", async ({ attempt }) => {
    for (const url of listUrls())
      await attempt(url, async () => {
        const outcome = await use(url);
        await expectRefused(Promise.resolve(outcome));
        // Refused as an address, and not since nobody answered.
        expect(outcome.errorCode).toBe("url_refused");
      });
  });

  itHolds("ssrf", "is not fooled by what a URL is dressed up with", async ({ attempt }) => {
    const hosts = ["127.0.0.1", "[::ffff:127.0.0.1]", "localhost", "2130706433"];
    for (const url of hosts.flatMap((host) => dressUrls(host, `:${innerPort}`)))
      await attempt(url, () => expectRefused(use(url)));
  });

  itHolds("ssrf", "speaks http and https, on the ports it may", async ({ attempt }) => {
    for (const url of OTHER_SCHEMES) await attempt(url, () => expectRefused(use(url)));
    for (const port of OTHER_PORTS)
      await attempt(`port ${port}`, async () => {
        const resolve = async (): Promise<readonly LookupAddress[]> => PUBLIC;
        expect((await use(`http://public.test:${port}/`, { resolve })).errorCode).toBe("url_refused");
      });
  });

  itHolds("ssrf", "follows no redirect inside", async ({ attempt }) => {
    const targets = [
      ...INNER_IPV4.slice(0, 10).flatMap((address) => spellHosts(address).slice(0, 30)),
      ...INNER_IPV6.map((address) => `[${address}]`),
      ...INNER_NAMES,
    ].map((host) => `http://${host}:${innerPort}/`);
    const others = [
      `//127.0.0.1:${innerPort}/`,
      `\\\\127.0.0.1:${innerPort}\\`,
      `http:\\\\127.1:${innerPort}/`,
      ...OTHER_SCHEMES,
    ];
    let turn = 0;
    for (const to of [...targets, ...others]) {
      // Headers have no other letters; a server could send them all the same.
      if (/[^\u0020-\u007e]/.test(to)) continue;
      await attempt(to, async () => {
        location = to;
        status = [301, 302, 303, 307, 308][turn++ % 5] ?? 302;
        await expectRefused(use(`http://web.test:${outerPort}/`));
      });
    }
  });

  itHolds("ssrf", "goes to the address that was judged, and asks for it once", async ({ attempt }) => {
    await attempt("a name with one address out there and one inside", async () => {
      for (const both of [
        [...PUBLIC, ...LOOPBACK],
        [...LOOPBACK, ...PUBLIC],
      ])
        expect((await use(`http://mixed.test:${innerPort}/`, { resolve: async () => both })).errorCode).toBe(
          "url_refused",
        );
    });
    await attempt("a name that means something else the second time", async () => {
      let looked = 0;
      const resolve = async (): Promise<readonly LookupAddress[]> =>
        looked++ === 0 ? [{ address: "127.0.0.1", family: 4 }] : [{ address: "127.0.0.2", family: 4 }];
      status = 200;
      expect((await use(`http://web.test:${outerPort}/`, { resolve })).isError).toBe(false);
      expect(looked).toBe(1);
    });
    await attempt("a name that means something else after a redirect to itself", async () => {
      let looked = 0;
      const resolve = async (): Promise<readonly LookupAddress[]> => {
        looked++;
        return LOOPBACK;
      };
      [status, location] = [302, `http://again.test:${innerPort}/`];
      await expectRefused(use(`http://web.test:${outerPort}/`, { resolve }));
      expect(looked).toBe(2);
    });
    await attempt("names without an address, and addresses that are none", async () => {
      for (const address of ["", "127.1", "localhost", "::1%lo", "0x7f000001", "not an address"])
        expect(
          (await use(`http://odd.test:${innerPort}/`, { resolve: async () => [{ address, family: 4 }] })).isError,
        ).toBe(true);
      expect(reached).toEqual([]);
    });
  });

  itHolds("ssrf", "sends nobody's words on to another host", async ({ attempt }) => {
    for (const code of [307, 308])
      await attempt(`POST, ${code}`, async () => {
        [status, location] = [code, `http://127.0.0.1:${innerPort}/`];
        const more = { method: "POST", body: "the user's words" };
        await expectRefused(use(`http://web.test:${outerPort}/`, { methods: ["POST"] }, more));
      });
  });
});

describe("the image door", () => {
  let connected: string[] = [];
  let redirect: string | undefined;

  /** Writes down where it would go, and goes to a server of ours, which sends it on or answers. */
  const exchange: OpenExchange = ({ url, addresses }, { method }, signal) => {
    const isFirst = connected.length === 0;
    connected.push(...addresses.map(({ address }) => address));
    [status, location] = isFirst && redirect !== undefined ? [302, redirect] : [200, "/"];
    const options = { host: "127.0.0.1", port: outerPort, path: url.pathname, method, signal, agent: false as const };
    return new Promise<IncomingMessage>((resolve, reject) => request(options, resolve).on("error", reject).end());
  };

  async function get(url: string, resolve: (host: string) => Promise<readonly LookupAddress[]>): Promise<unknown> {
    connected = [];
    const core = { limits: SERVER_LIMITS, closing: new AbortController().signal, report: () => "id" };
    const call = { request: new Request("http://127.0.0.1/v1/images"), query: { url }, signal: core.closing };
    const operation = createImageOperation({ exchange, resolve });
    try {
      await operation.handle(core as unknown as ServerCore, call as unknown as ApiCall<"Nothing", "Nothing">);
      return undefined;
    } catch (error) {
      const why = error instanceof HttpRefusal ? error.refused : error;
      return isLoomError(why, "image_refused") ? why.details["reason"] : why;
    }
  }

  const inner = async (): Promise<readonly LookupAddress[]> => LOOPBACK;
  const expectOut = (): void => expect(connected).toEqual(["93.184.216.34"]);

  itHolds("ssrf", "reaches nothing inside, however it is written", async ({ attempt }) => {
    const hosts = [...INNER_IPV4.flatMap(spellHosts), ...INNER_IPV6.map((address) => `[${address}]`), ...INNER_NAMES];
    for (const host of hosts)
      await attempt(host, async () => {
        expect(await get(`https://${host}/a.png`, inner)).toBe("url_refused");
        expect(connected).toEqual([]);
      });
    for (const url of [
      ...OTHER_SCHEMES,
      ...dressUrls("127.0.0.1", ""),
      ...OTHER_PORTS.map((port) => `https://public.test:${port}/`),
    ])
      await attempt(url, async () => {
        expect(await get(url, async () => PUBLIC)).toBe("url_refused");
        expect(connected).toEqual([]);
      });
  });

  itHolds("ssrf", "follows no redirect inside, and no name that changes its mind", async ({ attempt }) => {
    const hosts = [
      ...INNER_IPV4.flatMap((address) => spellHosts(address).slice(0, 8)),
      ...INNER_IPV6.map((address) => `[${address}]`),
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
    await attempt("the second look-up of the same name", async () => {
      redirect = "https://public.test/again";
      let looked = 0;
      expect(await get("https://public.test/", async () => (looked++ === 0 ? PUBLIC : LOOPBACK))).toBe("url_refused");
      expectOut();
    });
    redirect = undefined;
  });
});
