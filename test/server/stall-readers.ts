// Readers of every kind that can stop to read, notice that they were closed, and go on where they were.
import { get, type IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { createNdjsonDecoder, createSseDecoder } from "../../src/framing/index.ts";

export interface Closed {
  /** Of a WebSocket; 0 over HTTP, which has none. */
  readonly code: number;
  readonly reason: string;
}

/** One connection, and what came of it. */
export interface StallReader {
  /** What came before the frames of the log; they may begin with the same. */
  readonly greeting: string | undefined;
  /** Whole frames, in order. */
  readonly texts: readonly string[];
  /** Where to go on, as this kind of connection tells it. */
  readonly place: string;
  readonly opened: Promise<void>;
  readonly closed: Promise<Closed>;
  /** Reads what is there, and what comes. */
  wake(): void;
  end(): void;
}

/** `place`: as the reader before it told it; empty for the beginning. It does not read before it is woken. */
export type OpenStallReader = (url: string, place: string) => StallReader;

function openHttp(framing: "sse" | "ndjson", url: string, place: string): StallReader {
  const texts: string[] = [];
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<Closed>();
  const decoder = framing === "sse" ? createSseDecoder() : createNdjsonDecoder();
  let at = place;
  let begin = "";
  let response: IncomingMessage | undefined;
  const accept = framing === "sse" ? "text/event-stream" : "application/x-ndjson";
  const lastId = framing === "sse" && place !== "" ? { "last-event-id": place } : {};
  const query = framing === "ndjson" && place !== "" ? `&${place}` : "";
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
    get place() {
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

/** `take`: the frames of a message, and where to go on after them, if it says so. */
function openSocket(url: string, hello: string | undefined, hasGreeting: boolean): StallReader {
  const texts: string[] = [];
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<Closed>();
  let greeting: string | undefined;
  let place = "";
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
    place = cursor;
  });
  socket.on("error", (error) => opened.reject(error));
  socket.on("close", (code, bytes) => {
    const reason = bytes.toString();
    if (hasGreeting) place = / after=(?<cursor>\S+)$/.exec(reason)?.groups?.["cursor"] ?? "";
    closed.resolve({ code, reason });
  });
  return {
    get greeting() {
      return greeting;
    },
    texts,
    get place() {
      return place;
    },
    opened: opened.promise,
    closed: closed.promise,
    wake: () => socket.resume(),
    end: () => socket.terminate(),
  };
}

export const STALL_READERS: { readonly [kind: string]: OpenStallReader } = {
  "server-sent events": (url, place) => openHttp("sse", url, place),
  NDJSON: (url, place) => openHttp("ndjson", url, place),
  "control socket": (url, place) => {
    const hello = { type: "subscribe", id: "1", session: "s", ...(place === "" ? {} : { after: place }) };
    return openSocket(`${url.replace("http", "ws")}/v1/ws`, JSON.stringify(hello), false);
  },
  "socket of 004": (url, place) => {
    const query = `session_id=s&follow=1&after=${place === "" ? "0" : encodeURIComponent(place)}`;
    return openSocket(`${url.replace("http", "ws")}/agentOS/v1/ws_stream?${query}`, undefined, true);
  },
};
