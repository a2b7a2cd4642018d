/**
 * A complete server that answers requests: CPU time of its process until the first byte of each answer, or until all
 * answers have ended. The clients are another process. The peers are `streamText` of the AI SDK behind hono, and
 * `streamSSE` of hono, which writes each token as a frame; both have no sessions and store nothing. The limit is the same
 * frames with `response.write`.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import type { UIMessage } from "ai";
import { type Context, Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { agent } from "../../src/agents/index.ts";
import { type Log, MemoryLog, openSqliteLog } from "../../src/log/index.ts";
import { startLoomServer } from "../../src/server/index.ts";
import type { Benchmark, Contestants, Prepare, Row, Spent } from "../benchmark.ts";
import { startChild } from "../child.ts";
import { createFolder } from "../create-folder.ts";
import type { ClientRequests } from "../request-clients.ts";
import { WordyModel } from "../wordy-model.ts";

interface Work {
  readonly kind: "runs" | "chat" | "idle";
  readonly tokens: number;
  /** Whether only the time until the first bytes counts. */
  readonly isFirst: boolean;
}

/** Tokens per second of each run. At more than 5, a thousand of them need more than a core, and a round takes minutes. */
const PACE = 5;
const MARKERS = { runs: '"message_chunk"', chat: '"text-delta"', idle: "\n\n" };

/** All runs of a round wait here, until each client has received its first bytes. */
let gate = Promise.withResolvers<void>();

class GatedModel extends WordyModel {
  override async doStream(): ReturnType<WordyModel["doStream"]> {
    await gate.promise;
    return super.doStream();
  }
}

let sent = 0;

function writeRequest(kind: Work["kind"], id: string, port: number): string {
  const end = `host: 127.0.0.1:${port}\r\nconnection: close\r\naccept: text/event-stream\r\n`;
  if (kind === "idle") return `GET /v1/sessions/${id}/events?follow=true HTTP/1.1\r\n${end}\r\n`;
  const message = { id: "u1", role: "user", parts: [{ type: "text", text: "Talk" }] };
  const [path, body] =
    kind === "runs"
      ? [`/v1/sessions/${id}/runs`, JSON.stringify({ message: "Talk" })]
      : ["/api/chat", JSON.stringify({ id, messages: [message] })];
  const length = `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
  return `POST ${path} HTTP/1.1\r\n${end}${length}\r\n${body}`;
}

/** Sends requests to a server that listens in this process. */
function createRound({ kind, tokens, isFirst }: Work, port: number, count: number) {
  const clients: ChildProcess = startChild("./request-clients.ts");
  clients.once("exit", (code) => {
    throw new Error(`The clients ended with code ${code}.`);
  });
  const nextMessage = async (): Promise<unknown> => (await once(clients, "message"))[0];
  return async (): Promise<Spent> => {
    gate = Promise.withResolvers<void>();
    const requests = Array.from({ length: count }, (_, n) =>
      writeRequest(kind, kind === "idle" ? `s${n}` : `s${++sent}`, port),
    );
    const before = process.cpuUsage();
    clients.send({ port, requests, marker: MARKERS[kind], isIdle: kind === "idle" } satisfies ClientRequests);
    await nextMessage();
    const first = process.cpuUsage(before);
    gate.resolve();
    const received = (await nextMessage()) as readonly number[];
    const { user, system } = isFirst ? first : process.cpuUsage(before);
    // What a server does after its answers is not part of the next round.
    await pause(50);
    if (received.length !== count || (kind !== "idle" && received.some((found) => found !== tokens)))
      throw new Error(`clients received ${[...new Set(received)].join()} tokens instead of ${tokens}`);
    return { cpuMs: (user + system) / 1000 };
  };
}

const serveLoom =
  (work: Work, openLog: () => Promise<Log>): Prepare =>
  async (count) => {
    const log = await openLog();
    if (work.kind === "idle") for (let n = 0; n < count; n++) await log.createSession(`s${n}`);
    const actor = agent({ model: new GatedModel(work.tokens, { perSecond: PACE }) });
    const { port } = await startLoomServer({ log, agents: { main: actor }, port: 0 });
    return createRound(work, port, count);
  };

const inMemory = async (): Promise<Log> => new MemoryLog();

async function inSqlite(): Promise<Log> {
  return openSqliteLog(join(createFolder(), "loom.db"));
}

const serveNode =
  (work: Work, listener: RequestListener): Prepare =>
  async (count) => {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", 2000, resolve));
    return createRound(work, (server.address() as AddressInfo).port, count);
  };

function serveHono(work: Work, answer: (context: Context) => Promise<Response> | Response): Prepare {
  const listener = getRequestListener(new Hono().all("*", answer).fetch);
  return serveNode(work, (incoming, outgoing) => void listener(incoming, outgoing));
}

/** A frame for the start of a run, and one for each of its tokens. */
async function* createFrames({ kind, tokens }: Work): AsyncGenerator<string> {
  yield '{"type":"start"}';
  const { stream } = await new GatedModel(tokens, { perSecond: PACE }).doStream();
  for await (const part of stream) {
    const { type, delta } = part as { readonly type: string; readonly delta?: string };
    if (type === "text-delta") yield `{"type":${MARKERS[kind]},"content":${JSON.stringify(delta)}}`;
  }
}

const servePlainly = (work: Work): Prepare =>
  serveNode(work, (request, response) => void answerPlainly(work, request, response));

async function answerPlainly(work: Work, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  if (work.kind === "idle") return;
  await json(request);
  for await (const data of createFrames(work)) response.write(`data: ${data}\n\n`);
  response.end();
}

const serveFrames = (work: Work): Prepare =>
  serveHono(work, (context) =>
    streamSSE(context, async (stream) => {
      if (work.kind === "idle") {
        const { promise, resolve } = Promise.withResolvers<void>();
        stream.onAbort(resolve);
        return promise;
      }
      await context.req.json();
      for await (const data of createFrames(work)) await stream.writeSSE({ data });
    }),
  );

const serveAiSdk =
  (work: Work, isSmall: boolean): Prepare =>
  async (count) => {
    const ai = await import("ai");
    const { convertToModelMessages, createUIMessageStreamResponse, toUIMessageStream } = ai;
    const streamText = isSmall ? ai.experimental_streamTextLowMemory : ai.streamText;
    const model = new GatedModel(work.tokens, { perSecond: PACE });
    const create = serveHono(work, async (context) => {
      const { messages } = await context.req.json<{ messages: UIMessage[] }>();
      const { stream } = streamText({ model: model as never, messages: await convertToModelMessages(messages) });
      return createUIMessageStreamResponse({ stream: toUIMessageStream({ stream }) });
    });
    return create(count);
  };

function createRow(what: string, size: number, work: Work, openLog: () => Promise<Log>): Row {
  const peers: Contestants = {
    ...(work.kind === "chat" && {
      "AI SDK 7 streamText, nothing stored": serveAiSdk(work, false),
      "AI SDK 7 streamTextLowMemory (experimental), nothing stored": serveAiSdk(work, true),
    }),
    "hono 4 streamSSE, no session or store": serveFrames(work),
  };
  const unit = work.kind === "idle" ? "reader" : work.isFirst ? "request" : "run";
  const limits = { "response.write": servePlainly(work) };
  return { what, unit, sizes: [size], ours: serveLoom(work, openLog), peers, limits };
}

const runs: Work = { kind: "runs", tokens: 1, isFirst: true };
const chat: Work = { kind: "chat", tokens: 1, isFirst: true };
const live: Work = { kind: "runs", tokens: 10, isFirst: false };
const liveRuns = (place: string): string => `1,000 live runs of ${PACE} tokens/s, each with a reader, in ${place}`;
const idle: Work = { kind: "idle", tokens: 0, isFirst: false };

export const benchmark: Benchmark = {
  about: "CPU time of a server until it has answered requests",
  rows: [
    createRow("POST /v1/sessions/{id}/runs to the first byte, in memory", 100, runs, inMemory),
    createRow("POST /v1/sessions/{id}/runs to the first byte, in SQLite", 100, runs, inSqlite),
    createRow("POST /api/chat to the first byte, in memory", 100, chat, inMemory),
    createRow("open a reader of a session, idle", 1000, idle, inMemory),
    { ...createRow(liveRuns("memory"), 1000, live, inMemory), isSlow: true },
    createRow(liveRuns("SQLite"), 1000, live, inSqlite),
  ],
};
