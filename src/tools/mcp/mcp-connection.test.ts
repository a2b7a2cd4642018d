import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject } from "../../protocol/index.ts";
import { call, closeAll, EVERYTHING, failure, findPort, type Heard, open } from "./mcp-trial.contract.ts";
import type { McpServerConfig } from "./read-mcp-config.ts";

afterEach(closeAll);

describe("a real server over streamable HTTP", () => {
  it("gives its tools, and they work; also after it was started anew", async () => {
    const port = await findPort();
    let server = await startEverything(port);
    try {
      const mcp = await open({ web: { type: "http", url: `http://127.0.0.1:${port}/mcp` } });
      expect(mcp.servers).toMatchObject([{ name: "web", state: "ready", tools: 12 }]);
      expect((await call(mcp, "web__echo", { message: "hi" })).text).toBe("Echo: hi");
      const heard: Heard = { shown: [], reports: [] };
      await call(mcp, "web__trigger-long-running-operation", { duration: 0.1, steps: 2 }, { heard });
      expect(heard.reports.map(([progress]) => progress)).toEqual([50, 100]);

      await server.stop();
      expect(await failure(call(mcp, "web__echo", { message: "hi" }))).toMatchObject({ code: "mcp_failed" });
      server = await startEverything(port);
      // The session is gone with the server; a new one is opened without a word.
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

describe("hostile servers over HTTP", () => {
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

  it("get their headers, and keep them to themselves", async () => {
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
    expect(error.message).toBe("The MCP server s: answered with HTTP 500.");
    web.stop();
  });

  it.each([
    [
      "a huge answer",
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
    ["no answer", () => undefined, "tool_timeout"],
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
    ["an end", (response: ServerResponse) => response.destroy(), "mcp_failed"],
    [
      "a redirect",
      (response: ServerResponse) => response.writeHead(302, { location: "http://127.0.0.1:9/" }).end(),
      "mcp_failed",
    ],
  ])("%s ends one call, and the next works", async (_, misbehave, code) => {
    let isBad = true;
    const web = await host((message, request, response) => {
      if (message["method"] === "tools/call" && isBad) misbehave(response);
      else usual(message, request, response);
    });
    const mcp = await open(
      { s: web.config },
      {
        callTimeoutMs: code === "tool_timeout" ? 500 : 20_000,
        maxMessageBytes: 100_000,
      },
    );
    const error = await failure(call(mcp, "s__say"));
    expect(error.code).toBe(code);
    isBad = false;
    expect((await call(mcp, "s__say")).text).toBe("said");
    web.stop();
  });

  it("that have lost our session are asked for a new one, once", async () => {
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
