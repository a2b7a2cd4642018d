import type { LookupAddress } from "node:dns";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createRawServer, type Socket } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type JsonObject, LoomError } from "../../protocol/index.ts";
import type { ToolContext, ToolCallResult } from "../tool.ts";
import { createFetchTool, type FetchToolOptions } from "./create-fetch-tool.ts";
import { sampleCases } from "../../../test/sampling.ts";

const context: ToolContext = {
  callId: "c1",
  sessionId: "s",
  runId: "r",
  signal: new AbortController().signal,
  print: () => undefined,
  report: () => undefined,
  show: () => undefined,
  ready: async () => undefined,
};

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let host: string;
let handler: Handler;
let requests: string[];
const sockets = new Set<Socket>();

beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(`${request.method} ${request.headers.host} ${request.url}`);
    handler(request, response);
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  requests = [];
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  requests = [];
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function get(url: string, options: FetchToolOptions = {}, signal = context.signal): Promise<ToolCallResult> {
  return run({ url }, { allow: [host], ...options }, signal);
}

async function run(input: JsonObject, options: FetchToolOptions, signal = context.signal): Promise<ToolCallResult> {
  const tool = createFetchTool(options);
  const checked = await tool.validate(input);
  if (!checked.ok) throw new Error(checked.message);
  return tool.execute(checked.value, { ...context, signal });
}

async function codeOf(work: Promise<ToolCallResult>): Promise<string> {
  return work.then(
    (result) => `not rejected: ${result.text}`,
    (error: unknown) => (error instanceof LoomError ? error.code : String(error)),
  );
}

function answer(body: string | Buffer, headers: Record<string, string> = {}, status = 200): Handler {
  return (_, response) => response.writeHead(status, { "content-type": "text/plain", ...headers }).end(body);
}

/** A socket closed on our side is closed on the server a moment later. */
async function untilNoSocket(): Promise<void> {
  const deadline = performance.now() + 3000;
  while (sockets.size > 0 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(sockets.size).toBe(0);
}

describe("http_fetch", () => {
  it("returns the text of a page and its metadata", async () => {
    handler = answer("<h1>Hi</h1><script>x</script><p>there", { "content-type": "text/html; charset=utf-8" });
    const page = await get(`http://${host}/a#b`);
    expect(page).toEqual({
      text: "# Hi\n\nthere",
      output: {
        url: `http://${host}/a`,
        status: 200,
        content_type: "text/html; charset=utf-8",
        bytes: 37,
        is_cut: false,
        redirects: 0,
      },
      summary: { en: `Fetched a web page: http://${host}/a`, zh: `已获取网页：http://${host}/a` },
    });
    handler = answer('{"a": [1]}', { "content-type": "application/json" });
    expect((await get(`http://${host}/`)).text).toBe('{"a": [1]}');
    await untilNoSocket();
  });

  it("reads the charset from the header and from the page", async () => {
    const gbk = Buffer.from([0xd6, 0xd0, 0xce, 0xc4]);
    handler = answer(gbk, { "content-type": 'text/plain; charset="GBK"' });
    expect((await get(`http://${host}/`)).text).toBe("中文");
    handler = answer(Buffer.concat([Buffer.from('<meta charset="gb2312">'), gbk]), { "content-type": "text/html" });
    expect((await get(`http://${host}/`)).text).toBe("中文");
    handler = answer("plain", { "content-type": "text/plain; charset=nonsense" });
    expect((await get(`http://${host}/`)).text).toBe("plain");
  });

  it("reports HTTP errors and pages that are not text", async () => {
    handler = answer("gone", {}, 404);
    expect(await get(`http://${host}/`)).toMatchObject({ text: "[HTTP 404]\ngone", isError: true });
    handler = answer(Buffer.from([0x89, 0x50]), { "content-type": "image/png" });
    expect(await codeOf(get(`http://${host}/`))).toBe("tool_failed");
    handler = answer("x", { "content-encoding": "rot13" });
    expect(await codeOf(get(`http://${host}/`))).toBe("tool_failed");
    handler = (_, response) => response.writeHead(200, { "content-length": "10" }).write("x", () => response.destroy());
    expect(await codeOf(get(`http://${host}/`))).toBe("tool_failed");
    await untilNoSocket();
  });

  it.each([
    ["another protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"],
    ["something other than HTTP", "nonsense\r\n\r\n"],
    ["too many headers", `HTTP/1.1 200 OK\r\na: ${"b".repeat(100_000)}\r\n\r\n`],
    ["nothing", ""],
    ["broken chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
    ["an invalid redirect", "HTTP/1.1 302 x\r\nLocation: http://[::1\r\n\r\n", "url_refused"],
  ])("fails at once if a server sends %s", async (_, sent, code = "tool_failed") => {
    const raw = createRawServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.end(sent));
    });
    await new Promise<void>((resolve) => raw.listen(0, "127.0.0.1", resolve));
    const place = `127.0.0.1:${(raw.address() as AddressInfo).port}`;
    expect(await codeOf(run({ url: `http://${place}/` }, { allow: [place] }))).toBe(code);
    await new Promise((resolve) => raw.close(resolve));
  });

  it("asks for approval only for unsafe methods, and allows only configured ones", async () => {
    handler = (request, response) => {
      request
        .on("data", (chunk) => response.write(chunk))
        .on("end", () => response.end(`;${request.headers["content-type"]}`));
    };
    const tool = createFetchTool({ methods: ["GET", "POST"] });
    expect(await tool.needsApproval({ url: "http://x/" })).toBe(false);
    expect(await tool.needsApproval({ url: "http://x/", method: "POST" })).toBe(true);
    const post = { url: `http://${host}/`, method: "POST", body: "é", content_type: "text/x" };
    expect((await run(post, { methods: ["POST"], allow: [host] })).text).toBe("é;text/x");
    await expect(run({ url: `http://${host}/`, method: "POST" }, { allow: [host] })).rejects.toThrow(/method/);
    await expect(run({ url: `http://${host}/`, body: "x" }, { allow: [host] })).rejects.toThrow(/body/);
    expect(await codeOf(run({ url: `http://${host}/`, body: "x" }, { allow: [host], methods: ["GET", "PUT"] }))).toBe(
      "invalid_arguments",
    );
    handler = answer("x", {});
    expect((await run({ url: `http://${host}/`, method: "HEAD" }, { allow: [host] })).text).toBe("[HTTP 200]");
  });
});

describe("rejected URLs", () => {
  it.each([
    "http://127.0.0.1/",
    "http://127.1/",
    "http://0x7f.1/",
    "http://0x7f000001/",
    "http://2130706433/",
    "http://017700000001/",
    "http://127.0.0.1./",
    "http://１２７.0.0.1/",
    "http://0/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[0:0:0:0:0:ffff:7f00:1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fd00::1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "http://localhost/",
    "http://localhost./",
    "http://8.8.8.8:22/",
    "https://8.8.8.8:8443/",
    "http://user:secret@8.8.8.8/",
    "http://user@8.8.8.8/",
    "ftp://8.8.8.8/",
    "file:///etc/passwd",
    "gopher://8.8.8.8/",
    "data:text/plain,x",
    "javascript:1",
    "/relative",
    "",
    "http://",
    `http://8.8.8.8/${"x".repeat(5000)}`,
  ])("%s", async (url) => {
    const resolve = async (): Promise<LookupAddress[]> => [{ address: "127.0.0.1", family: 4 }];
    const error: unknown = await run({ url }, { resolve }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "url_refused" });
    expect((error as Error).message).not.toContain("secret");
  });

  it("includes a host with one address that is not public", async () => {
    const resolve = async (): Promise<LookupAddress[]> => [
      { address: "93.184.216.34", family: 4 },
      { address: "::ffff:10.0.0.1", family: 6 },
    ];
    expect(await codeOf(run({ url: "http://example.test/" }, { resolve }))).toBe("url_refused");
  });

  it("includes redirects to a private address, another scheme, a URL with a password, and a loop", async () => {
    for (const location of [
      "http://127.0.0.1/",
      "http://169.254.169.254/",
      "file:///etc/passwd",
      "http://a:b@8.8.8.8/",
    ]) {
      handler = answer("", { location }, 302);
      expect(await codeOf(get(`http://${host}/`))).toBe("url_refused");
    }
    handler = (request, response) =>
      response.writeHead(302, { location: `/${Number(request.url?.slice(1)) + 1}` }).end();
    expect(await codeOf(get(`http://${host}/0`))).toBe("url_refused");
    expect(requests).toHaveLength(4 + 6);
    requests = [];
    handler = (request, response) =>
      request.url === "/0" ? response.writeHead(301, { location: "/end" }).end() : response.end("end");
    expect((await get(`http://${host}/0`)).text).toBe(`[HTTP 200, redirected to http://${host}/end]\nend`);
    await untilNoSocket();
  });

  it("cannot be reached by changing DNS after the check: the host is resolved once", async () => {
    const port = Number(host.split(":")[1]);
    handler = answer("reached");
    let calls = 0;
    const resolve = async (): Promise<LookupAddress[]> => {
      calls += 1;
      // A second lookup returns another address.
      return [{ address: calls === 1 ? "127.0.0.1" : "127.0.0.2", family: 4 }];
    };
    // A name that the system cannot resolve, so only the resolved address can be used.
    const page = await run({ url: `http://inner.test:${port}/` }, { allow: [`inner.test:${port}`], resolve });
    expect(page.text).toBe("reached");
    expect(calls).toBe(1);
    expect(requests).toEqual([`GET inner.test:${port} /`]);
    // A redirect is resolved and checked again.
    let turn = 0;
    const moving = async (): Promise<LookupAddress[]> => {
      turn += 1;
      return [{ address: "127.0.0.1", family: 4 }];
    };
    handler = answer("", { location: `http://other.test:${port}/` }, 307);
    const moved = run(
      { url: `http://inner.test:${port}/` },
      { allow: [`inner.test:${port}`], ports: [80, port], resolve: moving },
    );
    expect(await codeOf(moved)).toBe("url_refused");
    expect(turn).toBe(2);
  });

  it("includes a host without an address and one that cannot be resolved", async () => {
    expect(await codeOf(run({ url: "http://none.test/" }, { resolve: async () => [] }))).toBe("tool_failed");
    const fails = async (): Promise<LookupAddress[]> => Promise.reject(new Error("ENOTFOUND secret detail"));
    const error: unknown = await run({ url: "http://none.test/" }, { resolve: fails }).catch(
      (thrown: unknown) => thrown,
    );
    expect((error as Error).message).toBe("The host none.test could not be resolved");
  });
});

describe("limits", () => {
  const MEBIBYTE = 1024 * 1024;

  it("truncates a page that is too long, and closes its socket", async () => {
    let written = 0;
    handler = (_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const more = (): void => {
        while (!response.destroyed && response.write("x".repeat(64 * 1024))) written += 64 * 1024;
      };
      response.on("drain", more);
      more();
    };
    const page = await get(`http://${host}/`, { maxBytes: 100_000 });
    expect(page.output).toMatchObject({ is_cut: true, bytes: 100_000 });
    expect(page.text).toMatch(/^\[HTTP 200, truncated after 100000 bytes\]\nxxx/);
    await untilNoSocket();
    expect(written).toBeLessThan(20 * MEBIBYTE);
  });

  it.each(sampleCases(["gzip", "br", "deflate"]))("stops a decompression bomb with %s", async (coding) => {
    const pack = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync }[coding] ?? gzipSync;
    const packed = pack(Buffer.alloc(16 * MEBIBYTE, "a"));
    expect(packed.length).toBeLessThan(100_000);
    handler = answer(packed, { "content-encoding": coding });
    const before = process.memoryUsage().arrayBuffers;
    const page = await get(`http://${host}/`);
    expect(page.output).toMatchObject({ is_cut: true, bytes: MEBIBYTE });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(12 * MEBIBYTE);
    const small = pack("a text whose second half is missing");
    handler = answer(small.subarray(0, small.length / 2), { "content-encoding": coding });
    expect(await codeOf(get(`http://${host}/`))).toBe("tool_failed");
    handler = answer("not compressed at all", { "content-encoding": coding });
    expect(await codeOf(get(`http://${host}/`))).toBe("tool_failed");
  });

  it("stops a compressed page that never produces output", async () => {
    handler = (_, response) => {
      response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" });
      // An empty file without its end, followed by empty blocks forever.
      response.write(Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]));
      const empty = Buffer.concat(Array.from({ length: 1000 }, () => Buffer.from([0, 0, 0, 0xff, 0xff])));
      const flood = (): void => {
        let hasRoom = true;
        while (hasRoom && !response.destroyed) hasRoom = response.write(empty);
      };
      response.on("drain", flood);
      flood();
    };
    expect(await codeOf(get(`http://${host}/`, { maxBytes: 50_000, timeoutMs: 3000 }))).toBe("tool_failed");
    await untilNoSocket();
  });

  it("times out for a slow server, a silent server and a DNS lookup that never ends", async () => {
    handler = (_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const timer = setInterval(() => response.write("x"), 10);
      response.on("close", () => clearInterval(timer));
    };
    expect(await codeOf(get(`http://${host}/`, { timeoutMs: 100 }))).toBe("tool_timeout");
    handler = () => undefined;
    expect(await codeOf(get(`http://${host}/`, { timeoutMs: 50 }))).toBe("tool_timeout");
    const never = async (): Promise<LookupAddress[]> => new Promise(() => undefined);
    expect(await codeOf(run({ url: "http://a.test/" }, { resolve: never, timeoutMs: 50 }))).toBe("tool_timeout");
    await untilNoSocket();
  });

  it("closes the socket when the call is aborted, and removes its listeners", async () => {
    handler = (_, response) => response.writeHead(200, { "content-type": "text/plain" }).write("x");
    const controller = new AbortController();
    const { signal } = controller;
    const add = vi.spyOn(signal, "addEventListener");
    const remove = vi.spyOn(signal, "removeEventListener");
    const work = get(`http://${host}/`, {}, signal);
    while (requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort(new Error("cancelled"));
    await expect(work).rejects.toThrow("cancelled");
    expect(remove).toHaveBeenCalledTimes(add.mock.calls.length);
    await untilNoSocket();
    await expect(get(`http://${host}/`, {}, signal)).rejects.toThrow("cancelled");
  });
});
