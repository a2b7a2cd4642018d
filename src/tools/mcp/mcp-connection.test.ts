import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import {
  call,
  closeAll,
  EVERYTHING,
  failure,
  findPort,
  type RecordedOutput,
  open,
  until,
} from "../../../test/contracts/mcp-fixture.ts";
import type { McpServerConfig } from "./read-mcp-config.ts";

afterEach(closeAll);

describe("a server over streamable HTTP", () => {
  it("provides working tools, also after a restart", async () => {
    const port = await findPort();
    let server = await startEverything(port);
    try {
      const mcp = await open({ web: { type: "http", url: `http://127.0.0.1:${port}/mcp` } });
      expect(mcp.servers).toMatchObject([{ name: "web", state: "ready", tools: 12 }]);
      expect((await call(mcp, "web__echo", { message: "hi" })).text).toBe("Echo: hi");
      const recorded: RecordedOutput = { shown: [], reports: [] };
      await call(mcp, "web__trigger-long-running-operation", { duration: 0.1, steps: 2 }, { recorded });
      expect(recorded.reports.map(([progress]) => progress)).toEqual([50, 100]);

      await server.stop();
      expect(await failure(call(mcp, "web__echo", { message: "hi" }))).toMatchObject({ code: "mcp_failed" });
      server = await startEverything(port);
      // The session was lost with the server, and a new one is opened automatically.
      expect((await call(mcp, "web__echo", { message: "again" })).text).toBe("Echo: again");
    } finally {
      await server.stop();
    }
  });
});

async function startEverything(port: number): Promise<{ stop: () => Promise<void> }> {
  const child = spawn(process.execPath, [EVERYTHING, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  await new Promise<void>((resolve) => {
    child.stderr.on("data", (chunk: Buffer) => {
      if (chunk.toString().includes("listening")) resolve();
    });
  });
  return {
    stop: async () => {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      if (child.exitCode === null && child.signalCode === null && child.kill("SIGKILL")) await gone;
    },
  };
}

describe("HTTP servers", () => {
  type Answer = (message: JsonObject, request: IncomingMessage, response: ServerResponse) => void;

  async function host(
    answer: Answer,
    headers: Record<string, string> = {},
  ): Promise<{ config: McpServerConfig; stop: () => void }> {
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        if (request.method !== "POST") return response.writeHead(405).end();
        const message: unknown = JSON.parse(body);
        return answer(isJsonObject(message) ? message : {}, request, response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    return {
      config: { url: `http://127.0.0.1:${port}/mcp`, headers },
      stop: () => {
        server.closeAllConnections();
        server.close();
      },
    };
  }

  const usual: Answer = (message, _, response) => {
    const { id, method } = message;
    if (id === undefined) return void response.writeHead(202).end();
    const results: { [method: string]: JsonObject } = {
      initialize: {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "s", version: "1" },
      },
      "tools/list": { tools: [{ name: "say", inputSchema: { type: "object" } }] },
      "tools/call": { content: [{ type: "text", text: "said" }] },
    };
    response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "one" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method as string] }));
  };

  it("receive their headers, which do not appear in errors", async () => {
    const seen = new Set<string | undefined>();
    const web = await host(
      (message, request, response) => {
        seen.add(request.headers.authorization);
        if (message["method"] !== "tools/call") return usual(message, request, response);
        return void response.writeHead(500).end(`your key is ${request.headers.authorization}`);
      },
      { authorization: "Bearer very-secret" },
    );
    const mcp = await open({ s: web.config });
    expect([...seen]).toEqual(["Bearer very-secret"]);
    const error = await failure(call(mcp, "s__say"));
    expect(error.message).toBe("MCP server s: responded with HTTP 500.");
    web.stop();
  });

  it.each([
    [
      "a huge response",
      (response: ServerResponse) =>
        response.writeHead(200, { "content-type": "application/json" }).end(`"${"x".repeat(300_000)}"`),
      "mcp_failed",
    ],
    [
      "a huge event",
      (response: ServerResponse) =>
        response.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${"x".repeat(300_000)}\n\n`),
      "mcp_failed",
    ],
    ["no response", () => undefined, "tool_timeout"],
    [
      "another type",
      (response: ServerResponse) => response.writeHead(200, { "content-type": "text/html" }).end("<p>"),
      "mcp_failed",
    ],
    [
      "no JSON",
      (response: ServerResponse) => response.writeHead(200, { "content-type": "application/json" }).end("{"),
      "mcp_failed",
    ],
    ["a closed connection", (response: ServerResponse) => response.destroy(), "mcp_failed"],
    ["only status 202", (response: ServerResponse) => response.writeHead(202).end(), "mcp_failed"],
    [
      "events without a response",
      (response: ServerResponse) =>
        response.writeHead(200, { "content-type": "text/event-stream" }).end("event: message\ndata: {}\n\n"),
      "mcp_failed",
    ],
    [
      "half an event",
      (response: ServerResponse) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write('data: {"jsonrpc":"2.0","id":', () => response.destroy());
      },
      "mcp_failed",
    ],
    [
      "a response to another request",
      (response: ServerResponse) =>
        response
          .writeHead(200, { "content-type": "text/event-stream" })
          .end('data: {"jsonrpc":"2.0","id":4711,"result":{}}\n\n'),
      "mcp_failed",
    ],
    [
      "a redirect",
      (response: ServerResponse) => response.writeHead(302, { location: "http://127.0.0.1:9/" }).end(),
      "mcp_failed",
    ],
  ])("fail one call and serve the next after %s", async (_, misbehave, code) => {
    let isBad = true;
    const web = await host((message, request, response) => {
      if (message["method"] === "tools/call" && isBad) misbehave(response);
      else usual(message, request, response);
    });
    const mcp = await open(
      { s: web.config },
      { callTimeoutMs: code === "tool_timeout" ? 500 : 20_000 },
      { maxMessageBytes: 100_000 },
    );
    const error = await failure(call(mcp, "s__say"));
    expect(error.code).toBe(code);
    isBad = false;
    expect((await call(mcp, "s__say")).text).toBe("said");
    web.stop();
  });

  it("are disconnected when a call ends before they respond", async () => {
    let waiting = 0;
    const web = await host((message, request, response) => {
      if (message["method"] !== "tools/call") return usual(message, request, response);
      waiting += 1;
      response.once("close", () => (waiting -= 1));
      const { kind } = (message["params"] as { arguments: { kind: string } }).arguments;
      if (kind === "headers") return;
      response.writeHead(200, { "content-type": "text/event-stream" });
      // One is resumable, the other is not.
      response.write(kind === "resumable" ? "id: 1\ndata:\n\n" : ": here I am\n\n");
    });
    const hasty = await open({ s: web.config }, { callTimeoutMs: 200 });
    const mcp = await open({ s: web.config }, { callTimeoutMs: 60_000 });
    for (const kind of ["headers", "stream", "resumable"]) {
      expect((await failure(call(hasty, "s__say", { kind }))).code).toBe("tool_timeout");
      await until(() => waiting === 0);
      const controller = new AbortController();
      const cancelled = call(mcp, "s__say", { kind }, controller);
      await until(() => waiting === 1);
      controller.abort(new Error("cancelled"));
      await expect(cancelled).rejects.toThrow("cancelled");
      await until(() => waiting === 0);
    }
    expect(mcp.servers).toMatchObject([{ state: "ready", restarts: 0 }]);
    web.stop();
  });

  it("can continue an interrupted response on another stream", async () => {
    const gets: unknown[] = [];
    let id: unknown;
    const server = createServer((request, response) => {
      if (request.method === "GET") {
        gets.push(request.headers["last-event-id"]);
        if (request.headers["last-event-id"] === undefined) return void response.writeHead(405).end();
        response.writeHead(200, { "content-type": "text/event-stream" });
        const result = { content: [{ type: "text", text: "the rest" }] };
        return void response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
      }
      return void request.on("data", (body: Buffer) => {
        const message = JSON.parse(body.toString()) as JsonObject;
        if (message["method"] !== "tools/call") return usual(message, request, response);
        ({ id } = message);
        return void response.writeHead(200, { "content-type": "text/event-stream" }).end("retry: 1\nid: 7\ndata:\n\n");
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    const mcp = await open({ s: { url } });
    expect((await call(mcp, "s__say")).text).toBe("the rest");
    expect(gets).toContain("7");
    server.closeAllConnections();
    server.close();
  });

  it("are tried again while they are unreachable", async () => {
    const port = await findPort();
    const start = async () => {
      const server = createServer((request, response) => {
        if (request.method !== "POST") return void response.writeHead(405).end();
        return void request.on("data", (body: Buffer) =>
          usual(JSON.parse(body.toString()) as JsonObject, request, response),
        );
      });
      await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
      return server;
    };
    const first = await start();
    const mcp = await open({ s: { url: `http://127.0.0.1:${port}/mcp` } }, { maxRestarts: 2 }, { restartMs: 1 });
    first.closeAllConnections();
    await new Promise((resolve) => first.close(resolve));
    for (let n = 0; n < 6; n += 1) await failure(call(mcp, "s__say"));
    expect(mcp.servers).toMatchObject([{ state: "down", error: "could not be reached (ECONNREFUSED)" }]);
    const second = await start();
    expect((await call(mcp, "s__say")).text).toBe("said");
    second.closeAllConnections();
    second.close();
  });

  it("receive the credentials of their URL in a header, which do not appear in errors", async () => {
    const seen = new Set<string | undefined>();
    const web = await host((message, request, response) => {
      seen.add(request.headers.authorization);
      if (message["method"] !== "tools/call") return usual(message, request, response);
      response.writeHead(200, { "content-type": "application/json" });
      const text = `no: ${request.headers.authorization} p@ssword ${request.url} k/ey-key`;
      const result = { isError: true, content: [{ type: "text", text }] };
      return void response.end(JSON.stringify({ jsonrpc: "2.0", id: message["id"], result }));
    });
    const { url } = web.config as { url: string };
    const secret = `${url.replace("//", "//ada:p%40ssword@")}?key=k%2Fey-key`;
    const mcp = await open({ s: { url: secret } });
    expect([...seen]).toEqual([`Basic ${Buffer.from("ada:p@ssword").toString("base64")}`]);
    expect((await call(mcp, "s__say")).text).toBe("no: ••• ••• /mcp?key=••• •••");
    web.stop();
    const gone = await open({ s: { url: secret } });
    expect(gone.servers[0]?.error).toMatch(/^could not be reached \(\w+\)$/);
    const both = { url: secret, headers: { Authorization: "Bearer x" } };
    expect((await failure(open({ s: both }))).message).not.toContain("p%40ssword");
  });

  it("that lost the session get a new one, once", async () => {
    let lost = 1;
    const methods: unknown[] = [];
    const web = await host((message, request, response) => {
      methods.push(message["method"]);
      if (message["method"] === "tools/call" && lost-- > 0) return void response.writeHead(404).end();
      return usual(message, request, response);
    });
    const mcp = await open({ s: web.config });
    methods.length = 0;
    expect((await call(mcp, "s__say")).text).toBe("said");
    expect(methods).toEqual(["tools/call", "initialize", "notifications/initialized", "tools/call"]);
    lost = 2;
    expect(await failure(call(mcp, "s__say"))).toMatchObject({ code: "mcp_failed" });
    web.stop();
  });
});
