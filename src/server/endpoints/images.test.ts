import type { LookupAddress } from "node:dns";
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { OpenExchange } from "../../tools/fetch/open-exchange.ts";
import { createGates } from "../api/gates.ts";
import type { ApiCall } from "../api/operation.ts";
import { HttpRefusal, refuseRequest } from "../api/refuse-request.ts";
import { LOCAL } from "../auth/principal.ts";
import { SECURITY_HEADERS } from "../guard/security-headers.ts";
import type { ServerCore } from "../api/server-core.ts";
import { SERVER_LIMITS } from "../guard/server-limits.ts";
import { createImageOperation } from "./images.ts";

const IMAGES = {
  "image/png": Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"),
  "image/jpeg": Buffer.from("ffd8ffe000104a464946000101000001", "hex"),
  "image/gif": Buffer.from("GIF89a\u0001\u0000\u0001\u0000", "latin1"),
  "image/webp": Buffer.from("RIFF\u0010\u0000\u0000\u0000WEBPVP8 ", "latin1"),
  "image/avif": Buffer.from("\u0000\u0000\u0000\u0020ftypavif\u0000\u0000\u0000\u0000", "latin1"),
} as const;
const PNG = IMAGES["image/png"];
const PUBLIC: readonly LookupAddress[] = [{ address: "93.184.216.34", family: 4 }];

let server: Server;
let handler: (asked: IncomingMessage, response: ServerResponse) => void;
let seen: IncomingMessage[] = [];
let resolved: { [host: string]: readonly LookupAddress[] } = {};
let connected: string[] = [];
const sockets = new Set<Socket>();

beforeAll(async () => {
  server = createServer((asked, response) => {
    seen.push(asked);
    handler(asked, response);
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
beforeEach(() => {
  seen = [];
  resolved = {};
  connected = [];
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Records the checked target and sends the request to the local test server. */
const exchange: OpenExchange = ({ url, addresses }, { method, headers }, signal) => {
  connected.push(`${url.href} ${addresses.map(({ address }) => address).join(",")}`);
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path: url.pathname, method, headers, signal, agent: false as const };
    request(options, resolve).on("error", reject).end();
  });
};

const operation = createImageOperation({ exchange, resolve: async (host) => resolved[host] ?? PUBLIC });

function createCore(given: Partial<ServerCore["limits"]> = {}): ServerCore {
  const closing = new AbortController().signal;
  const limits = { ...SERVER_LIMITS, ...given };
  return { limits, gates: createGates(limits), closing, report: () => "id" } as unknown as ServerCore;
}

async function get(
  url: string,
  {
    headers = {},
    core = createCore(),
    signal = new AbortController().signal,
  }: { readonly headers?: HeadersInit; readonly core?: ServerCore; readonly signal?: AbortSignal } = {},
): Promise<Response> {
  const asked = new Request("http://127.0.0.1/v1/images", { headers });
  const call = { request: asked, caller: { principal: LOCAL }, query: { url }, signal } as unknown as ApiCall<
    "Empty",
    "Empty"
  >;
  try {
    return await operation.handle(core, call);
  } catch (error) {
    if (error instanceof HttpRefusal) return refuseRequest(core, error);
    throw error;
  }
}

async function refusalOf(response: Response): Promise<readonly unknown[]> {
  const { code, details } = (await response.json()) as { code: string; details?: { reason?: string } };
  return [response.status, code, details?.reason];
}

const answer =
  (body: Buffer | string, type: string, more: Record<string, string> = {}, status = 200): typeof handler =>
  (_, response) =>
    response.writeHead(status, { "content-type": type, ...more }).end(body);

describe("an image from another site", () => {
  it.each(Object.entries(IMAGES))("of type %s is served without headers of its source", async (type, bytes) => {
    handler = answer(bytes, `${type}; q=1`, { "set-cookie": "a=b", "x-secret": "1", link: "<x>" });
    const response = await get("https://img.test/a?b#c", { headers: { cookie: "c=d", authorization: "x" } });
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
    expect(Object.fromEntries(response.headers)).toEqual({
      "content-type": type,
      "content-length": String(bytes.length),
      "content-disposition": "inline",
      "cache-control": "private, max-age=3600",
      ...SECURITY_HEADERS,
      "content-security-policy":
        "sandbox; default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    });
    expect(connected).toEqual(["https://img.test/a?b 93.184.216.34"]);
    const { cookie, authorization, referer } = seen[0]?.headers ?? {};
    expect([cookie, authorization, referer]).toEqual([undefined, undefined, undefined]);
  });

  it("gets the media type of its content if the declared one differs", async () => {
    handler = answer(PNG, "image/jpg");
    expect((await get("https://img.test/")).headers.get("content-type")).toBe("image/png");
  });

  it.each([
    ["an SVG", "image/svg+xml", "<svg/>"],
    ["a page", "text/html", PNG],
    ["no type", "", PNG],
    ["a page that is called an image", "image/png", "<html><script>alert(1)</script>"],
    ["nothing", "image/png", ""],
    ["RIFF that is not WebP", "image/webp", "RIFF0000WAVEfmt "],
  ])("is rejected if it is %s", async (_, type, body) => {
    handler = answer(body, type);
    expect(await refusalOf(await get("https://img.test/"))).toEqual([415, "image_refused", "not_an_image"]);
  });

  it("is rejected if it is compressed, missing or truncated", async () => {
    handler = answer(gzipSync(PNG), "image/png", { "content-encoding": "gzip" });
    expect(await refusalOf(await get("https://img.test/"))).toEqual([415, "image_refused", "not_an_image"]);
    handler = answer(PNG, "image/png", {}, 404);
    expect(await refusalOf(await get("https://img.test/"))).toEqual([502, "image_refused", "unreachable"]);
    handler = (_, response) =>
      response.writeHead(200, { "content-type": "image/png", "content-length": "99" }).write(PNG, () => {
        response.destroy();
      });
    expect(await refusalOf(await get("https://img.test/"))).toEqual([502, "image_refused", "unreachable"]);
  });

  it.each([
    "http://img.test/",
    "http://img.test:443/",
    "ftp://img.test/",
    "data:image/png;base64,AAAA",
    "https://user:secret@img.test/",
    "https://img.test:8443/",
    "https://127.0.0.1/",
    "https://[::1]/",
    "https://169.254.169.254/latest",
    "https://inside.test/",
    "nonsense",
    `https://img.test/${"x".repeat(5000)}`,
  ])("is not fetched from %s", async (url) => {
    resolved["inside.test"] = [...PUBLIC, { address: "10.0.0.1", family: 4 }];
    const response = await get(url);
    const text = await response.clone().text();
    expect(await refusalOf(response)).toEqual([400, "image_refused", "url_refused"]);
    expect(text).not.toContain("secret");
    expect(connected).toEqual([]);
  });

  it.each([
    "https://inside.test/",
    "http://img.test:443/",
    "https://[::ffff:127.0.0.1]/",
    "https://a:b@img.test/",
    "//",
  ])("is not fetched after a redirect to %s", async (location) => {
    resolved["inside.test"] = [{ address: "192.168.0.1", family: 4 }];
    handler = answer("", "text/plain", { location }, 302);
    expect(await refusalOf(await get("https://img.test/"))).toEqual([400, "image_refused", "url_refused"]);
    expect(connected).toHaveLength(1);
  });

  it("follows up to three redirects and checks each target", async () => {
    resolved["other.test"] = [{ address: "8.8.8.8", family: 4 }];
    handler = (asked, response) => {
      const n = Number(asked.url?.slice(1));
      if (n >= 3) answer(PNG, "image/png")(asked, response);
      else response.writeHead(307, { location: `https://other.test/${n + 1}` }).end();
    };
    expect((await get("https://img.test/0")).status).toBe(200);
    expect(connected).toEqual([
      "https://img.test/0 93.184.216.34",
      "https://other.test/1 8.8.8.8",
      "https://other.test/2 8.8.8.8",
      "https://other.test/3 8.8.8.8",
    ]);
    handler = (_, response) => response.writeHead(302, { location: "/again" }).end();
    expect(await refusalOf(await get("https://img.test/0"))).toEqual([400, "image_refused", "url_refused"]);
  });

  it("is rejected as soon as it is too large", async () => {
    const core = createCore({ maxImageBytes: 100_000 });
    handler = answer(PNG, "image/png", { "content-length": "100001" });
    expect(await refusalOf(await get("https://img.test/", { core }))).toEqual([413, "image_refused", "too_large"]);
    let written = 0;
    handler = (_, response) => {
      response.writeHead(200, { "content-type": "image/png" }).write(PNG);
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384))) written += 16_384;
      };
      response.on("drain", more);
      more();
    };
    expect(await refusalOf(await get("https://img.test/", { core }))).toEqual([413, "image_refused", "too_large"]);
    expect(written).toBeLessThan(20 * 1024 * 1024);
    handler = answer(Buffer.concat([PNG, Buffer.alloc(100_000 - PNG.length)]), "image/png");
    expect((await get("https://img.test/", { core })).status).toBe(200);
  });

  it("is aborted after the timeout, or when the client disconnects", async () => {
    handler = (_, response) => void response.writeHead(200, { "content-type": "image/png" }).write(PNG);
    const core = createCore({ imageTimeoutMs: 30 });
    expect(await refusalOf(await get("https://img.test/", { core }))).toEqual([504, "image_refused", "timeout"]);
    const abort = new AbortController();
    const going = get("https://img.test/", { signal: abort.signal });
    while (seen.length < 2) await new Promise((resolve) => setImmediate(resolve));
    abort.abort(new Error("left"));
    await expect(going).rejects.toThrow("left");
    while (sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 2));
  });

  it("waits while too many others are fetched", async () => {
    const held: ServerResponse[] = [];
    handler = (_, response) => void held.push(response);
    const core = createCore({ maxImages: 2 });
    const going = Array.from({ length: 5 }, () => get("https://img.test/", { core }));
    while (held.length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(connected).toHaveLength(2);
    handler = answer(PNG, "image/png");
    for (const response of held) response.writeHead(200, { "content-type": "image/png" }).end(PNG);
    expect((await Promise.all(going)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  it("is only fetched for pages of this server", async () => {
    handler = answer(PNG, "image/png");
    for (const site of ["same-origin", "none"])
      expect((await get("https://img.test/", { headers: { "sec-fetch-site": site } })).status).toBe(200);
    for (const site of ["cross-site", "same-site"])
      await expect(get("https://img.test/", { headers: { "sec-fetch-site": site } })).rejects.toMatchObject({
        code: "forbidden",
      });
  });
});
