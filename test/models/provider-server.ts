/**
 * A test server for the APIs of OpenAI and Anthropic. It plays a script, breaks where the script says so, and rejects
 * conversations that the real servers would reject.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { JsonObject } from "../../src/protocol/index.ts";
import { chatWire } from "./chat-wire.ts";
import { messagesWire } from "./messages-wire.ts";
import { responsesWire } from "./responses-wire.ts";
import type { IssuedIds, ServerFault, ServerTurn, Wire } from "./wire.ts";

export type { ServerTurn } from "./wire.ts";

export interface ServerRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: JsonObject;
  /** Resolves when the client closes the connection before the response has ended. */
  readonly closed: Promise<void>;
  /** Frames written so far. */
  frames: number;
}

export interface ProviderServer {
  /** The base URL, including `/v1`. */
  readonly url: string;
  readonly key: string;
  readonly requests: ServerRequest[];
  /** One turn per accepted request, in order, or a function of the request. */
  script: ServerTurn[] | ((request: ServerRequest) => ServerTurn);
  /** What `GET /v1/models` reports; undefined if there is no such endpoint. */
  models: readonly string[] | undefined;
  /** Resolves with the next request that the server leaves waiting (`silent` or `stall`). */
  waitUntilStuck(): Promise<ServerRequest>;
  close(): Promise<void>;
}

const WIRES: readonly Wire[] = [chatWire, responsesWire, messagesWire];

export async function startProviderServer(options: { readonly key?: string } = {}): Promise<ProviderServer> {
  const { key = "sk-test-0123456789abcdef" } = options;
  const issued = createIssued();
  const sockets = new Set<Socket>();
  const http = createServer((request, response) => {
    answer(request, response).catch(() => response.socket?.destroy());
  });
  http.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });

  const waiting: ((request: ServerRequest) => void)[] = [];
  const reportStuck = (request: ServerRequest): void => {
    for (const resolve of waiting.splice(0)) resolve(request);
  };

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const wire = WIRES.find(({ path }) => path === incoming.url);
    const request = await readRequest(incoming, response);
    server.requests.push(request);
    if (request.path.startsWith("/v1/models?") && server.models !== undefined) return listModels(request, response);
    if (wire === undefined) return refuse(response, chatWire, 404, `no such path: ${request.path}`);
    const [header, prefix] = wire.keyHeader;
    const given = String(request.headers[header] ?? "");
    // Real servers repeat parts of the key, too.
    if (given !== prefix + key) return refuse(response, wire, 401, `Incorrect API key provided: ${given}.`);
    const refusal = wire.validate(request.body, issued);
    if (refusal !== undefined) return refuse(response, wire, refusal.status, refusal.message);
    const { script } = server;
    const turn = typeof script === "function" ? script(request) : script.shift();
    if (turn === undefined) return refuse(response, wire, 400, "The script has ended.");
    await play(turn, wire, request, response);
  }

  function listModels({ headers }: ServerRequest, response: ServerResponse): void {
    if (headers.authorization !== `Bearer ${key}` && headers["x-api-key"] !== key)
      return refuse(response, chatWire, 401, `Incorrect API key provided: ${headers.authorization}.`);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ object: "list", data: server.models?.map((id) => ({ id, object: "model" })) }));
  }

  async function play(turn: ServerTurn, wire: Wire, request: ServerRequest, response: ServerResponse): Promise<void> {
    const { fault } = turn;
    if (fault?.kind === "silent") return reportStuck(request);
    if (fault?.kind === "status") {
      const { status = 500, message = "Scripted failure", headers = {} } = fault;
      return refuse(response, wire, status, message, headers);
    }
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    response.flushHeaders();
    for (const frame of wire.stream(turn, request.body, issued)) {
      if (fault !== undefined && request.frames >= (fault.after ?? 0)) {
        if (fault.kind === "stall") return reportStuck(request);
        return fail(fault, frame, wire, response);
      }
      if (response.destroyed) return;
      request.frames++;
      // Do not buffer a stream that is not read.
      if (!response.write(frame)) await waitForRoom(response);
    }
    response.end();
  }

  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const server: ProviderServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`,
    key,
    requests: [],
    script: [],
    models: undefined,
    waitUntilStuck: () => new Promise((resolve) => waiting.push(resolve)),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return server;
}

async function fail(fault: ServerFault, frame: string, wire: Wire, response: ServerResponse): Promise<void> {
  const { kind, message = "Scripted failure" } = fault;
  if (kind === "end") response.end();
  if (kind === "error") response.end(wire.streamError(message));
  if (kind === "malformed") response.end(`data: {"choices": [{"delta": {"content": "bro\n\n${frame}`);
  if (kind !== "cut") return;
  await new Promise((resolve) => response.write(frame.slice(0, frame.length / 2), resolve));
  response.socket?.destroy();
}

function refuse(
  response: ServerResponse,
  wire: Wire,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(wire.describeError(message, status)));
}

async function waitForRoom(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}

async function readRequest(incoming: IncomingMessage, response: ServerResponse): Promise<ServerRequest> {
  const closed = new Promise<void>((resolve) => {
    response.on("close", () => {
      if (!response.writableFinished) resolve();
    });
  });
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  const body = JSON.parse(Buffer.concat(pieces).toString("utf8") || "{}") as JsonObject;
  return { path: incoming.url ?? "", headers: incoming.headers, body, closed, frames: 0 };
}

function createIssued(): IssuedIds {
  let count = 0;
  return { next: (prefix) => `${prefix}_${++count}`, given: new Map() };
}
