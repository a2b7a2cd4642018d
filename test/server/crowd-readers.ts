// Lightweight readers, so that a test can have a thousand: they record what they receive, and can disconnect and
// resume.
import { get } from "node:http";
import { WebSocket } from "ws";

export interface CrowdReader {
  readonly session: string;
  /** Frames received so far. Approximate while data is in flight. */
  readonly count: number;
  /** All complete frames as received. */
  readonly received: string;
  /** Unexpected errors. */
  readonly errors: readonly string[];
  /** Connects, or resumes after the last received frame. Resolves when the server has accepted the request. */
  connect(): Promise<void>;
  /** Disconnects immediately. `lost` drops the last frames, as if they had not arrived (SSE only). */
  disconnect(lost?: number): void;
}

const EVENT_END = "\n\n";

export function createSseReader(url: string, session: string): CrowdReader {
  let received: Buffer = Buffer.alloc(0);
  let pieces: Buffer[] = [];
  let count = 0;
  const errors: string[] = [];
  let request: ReturnType<typeof get> | undefined;
  const gather = (): Buffer => {
    received = Buffer.concat([received, ...pieces]);
    pieces = [];
    return received;
  };
  return {
    session,
    errors,
    get count() {
      return count;
    },
    get received() {
      return gather().toString();
    },
    connect() {
      const text = gather().toString();
      const id = text.slice(text.lastIndexOf("id: ") + 4).split("\n", 1)[0] ?? "";
      const headers = { accept: "text/event-stream", ...(text === "" ? {} : { "last-event-id": id }) };
      const { promise, resolve } = Promise.withResolvers<void>();
      const opened = get(`${url}/v1/sessions/${session}/events?follow=true`, { agent: false, headers }, (response) => {
        if (response.statusCode !== 200) errors.push(`status ${response.statusCode}`);
        response.on("error", () => undefined);
        response.on("data", (piece: Buffer) => {
          if (request !== opened) return;
          pieces.push(piece);
          for (let at = piece.indexOf(EVENT_END); at !== -1; at = piece.indexOf(EVENT_END, at + 2)) count++;
        });
        response.on("close", () => request === opened && errors.push("connection closed"));
        resolve();
      });
      opened.on("error", (error) => {
        if (request === opened) errors.push(error.message);
        resolve();
      });
      request = opened;
      return promise;
    },
    disconnect(lost = 0) {
      const dropped = request;
      request = undefined;
      dropped?.destroy();
      const whole = gather();
      let end = whole.lastIndexOf(EVENT_END);
      for (let left = lost; left > 0 && end > 0; left--) end = whole.lastIndexOf(EVENT_END, end - 1);
      received = whole.subarray(0, end === -1 ? 0 : end + EVENT_END.length);
    },
  };
}

/** The fields of control frames that these tests use. */
interface ControlMessage {
  readonly type: string;
  readonly code?: string;
  readonly frames?: readonly string[];
  readonly cursor?: string;
}

export function createSocketReader(url: string, session: string): CrowdReader {
  const texts: string[] = [];
  const errors: string[] = [];
  let after: string | undefined;
  let socket: WebSocket | undefined;
  return {
    session,
    errors,
    get count() {
      return texts.length;
    },
    get received() {
      return texts.map((text) => `${text}\n`).join("");
    },
    connect() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const opened = new WebSocket(`${url.replace("http", "ws")}/v1/ws`, { perMessageDeflate: false });
      socket = opened;
      opened.on("open", () =>
        opened.send(JSON.stringify({ type: "subscribe", id: "s", session, ...(after === undefined ? {} : { after }) })),
      );
      opened.on("message", (data: Buffer) => {
        if (socket !== opened) return;
        const { type, frames = [], cursor, code } = JSON.parse(data.toString()) as ControlMessage;
        if (type === "refusal") errors.push(code ?? "");
        if (type === "subscribed") resolve();
        if (type !== "frames") return;
        texts.push(...frames);
        after = cursor;
      });
      opened.on("error", (error) => socket === opened && errors.push(error.message));
      opened.on("close", (code) => {
        if (socket === opened) errors.push(`closed with ${code}`);
        resolve();
      });
      return promise;
    },
    disconnect() {
      const dropped = socket;
      socket = undefined;
      dropped?.terminate();
    },
  };
}
