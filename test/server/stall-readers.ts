// Readers for every kind of connection that can stall, detect that they were closed, and resume.
import { get, type IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { createNdjsonDecoder, createSseDecoder } from "../../src/framing/index.ts";

export interface Closed {
  /** The WebSocket close code; 0 over HTTP. */
  readonly code: number;
  readonly reason: string;
}

/** One connection and what it received. */
export interface StallReader {
  /** The first message of a Lumine socket, which may equal the first frame in the log. */
  readonly greeting: string | undefined;
  /** Whole frames, in order. */
  readonly texts: readonly string[];
  /** Where to resume: a cursor, or a query string for NDJSON. */
  readonly resumeFrom: string;
  readonly opened: Promise<void>;
  readonly closed: Promise<Closed>;
  /** Starts reading. */
  wake(): void;
  end(): void;
}

/**
 * Opens a reader that does not read until `wake`. `resumeFrom` is the value of an earlier reader; empty to start at the
 * beginning.
 */
export type OpenStallReader = (url: string, resumeFrom: string) => StallReader;

function openHttp(framing: "sse" | "ndjson", url: string, resumeFrom: string): StallReader {
  const texts: string[] = [];
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<Closed>();
  const decoder = framing === "sse" ? createSseDecoder() : createNdjsonDecoder();
  let at = resumeFrom;
  let begin = "";
  let response: IncomingMessage | undefined;
  const accept = framing === "sse" ? "text/event-stream" : "application/x-ndjson";
  const lastId = framing === "sse" && resumeFrom !== "" ? { "last-event-id": resumeFrom } : {};
  const query = framing === "ndjson" && resumeFrom !== "" ? `&${resumeFrom}` : "";
  const headers = { accept, ...lastId };
  const request = get(`${url}/v1/sessions/s/events?follow=true${query}`, { agent: false, headers }, (answer) => {
    response = answer;
    begin = String(answer.headers["loom-cursor"]);
    answer.on("error", () => undefined);
    answer.on("close", () => closed.resolve({ code: 0, reason: "" }));
    opened.resolve();
  });
  request.on("error", opened.reject);
  return {
    greeting: undefined,
    texts,
    get resumeFrom() {
      return framing === "sse" ? at : `after=${begin}&skip=${texts.length}`;
    },
    opened: opened.promise,
    closed: closed.promise,
    wake: () =>
      void response?.on("data", (bytes: Buffer) => {
        for (const outcome of decoder.push(bytes)) {
          if (!outcome.ok) continue;
          texts.push(outcome.text);
          at = outcome.id ?? at;
        }
      }),
    end: () => void request.destroy(),
  };
}

/** `hasGreeting`: every message is one frame, and the first one is the greeting. */
function openSocket(url: string, hello: string | undefined, hasGreeting: boolean): StallReader {
  const texts: string[] = [];
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<Closed>();
  let greeting: string | undefined;
  let resumeFrom = "";
  const socket = new WebSocket(url, { perMessageDeflate: false });
  socket.on("open", () => {
    if (hello !== undefined) socket.send(hello);
    socket.pause();
    opened.resolve();
  });
  socket.on("message", (data: Buffer) => {
    const text = data.toString();
    if (hasGreeting) {
      if (greeting === undefined) greeting = text;
      else texts.push(text);
      return;
    }
    const { type, frames, cursor } = JSON.parse(text) as {
      readonly type: string;
      readonly frames: readonly string[];
      readonly cursor: string;
    };
    if (type !== "frames") return;
    texts.push(...frames);
    resumeFrom = cursor;
  });
  socket.on("error", (error) => opened.reject(error));
  socket.on("close", (code, bytes) => {
    const reason = bytes.toString();
    if (hasGreeting) resumeFrom = / after=(?<cursor>\S+)$/.exec(reason)?.groups?.["cursor"] ?? "";
    closed.resolve({ code, reason });
  });
  return {
    get greeting() {
      return greeting;
    },
    texts,
    get resumeFrom() {
      return resumeFrom;
    },
    opened: opened.promise,
    closed: closed.promise,
    wake: () => socket.resume(),
    end: () => socket.terminate(),
  };
}

export const STALL_READERS: { readonly [kind: string]: OpenStallReader } = {
  "server-sent events": (url, resumeFrom) => openHttp("sse", url, resumeFrom),
  NDJSON: (url, resumeFrom) => openHttp("ndjson", url, resumeFrom),
  "control socket": (url, resumeFrom) => {
    const hello = { type: "subscribe", id: "1", session: "s", ...(resumeFrom === "" ? {} : { after: resumeFrom }) };
    return openSocket(`${url.replace("http", "ws")}/v1/ws`, JSON.stringify(hello), false);
  },
  "Lumine socket (004)": (url, resumeFrom) => {
    const query = `session_id=s&follow=1&after=${resumeFrom === "" ? "0" : encodeURIComponent(resumeFrom)}`;
    return openSocket(`${url.replace("http", "ws")}/agentOS/v1/ws_stream?${query}`, undefined, true);
  },
};
