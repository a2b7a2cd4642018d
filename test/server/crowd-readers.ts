// Readers that cost little, so that there can be a thousand: they keep what came, can be cut off, and come back after it.
import { get } from "node:http";
import { WebSocket } from "ws";

export interface CrowdReader {
  readonly session: string;
  /** Frames that came, about; exact where nothing is on its way. */
  readonly count: number;
  /** All that came whole, as it was written. */
  readonly got: string;
  /** What went wrong and should not have. */
  readonly faults: readonly string[];
  /** Begins, or goes on after what it has. Resolves when it was let in. */
  come(): Promise<void>;
  /** Cut off, from one moment to the next; the last so many frames, where they come singly, have not come through. */
  drop(lost?: number): void;
}

const EVENT_END = "\n\n";

export function createSseReader(url: string, session: string): CrowdReader {
  let got: Buffer = Buffer.alloc(0);
  let pieces: Buffer[] = [];
  let count = 0;
  const faults: string[] = [];
  let request: ReturnType<typeof get> | undefined;
  const gather = (): Buffer => {
    got = Buffer.concat([got, ...pieces]);
    pieces = [];
    return got;
  };
  return {
    session,
    faults,
    get count() {
      return count;
    },
    get got() {
      return gather().toString();
    },
    come() {
      const text = gather().toString();
      const id = text.slice(text.lastIndexOf("id: ") + 4).split("\n", 1)[0] ?? "";
      const headers = { accept: "text/event-stream", ...(text === "" ? {} : { "last-event-id": id }) };
      const { promise, resolve } = Promise.withResolvers<void>();
      const asked = get(`${url}/v1/sessions/${session}/events?follow=true`, { agent: false, headers }, (response) => {
        if (response.statusCode !== 200) faults.push(`status ${response.statusCode}`);
        response.on("error", () => undefined);
        response.on("data", (piece: Buffer) => {
          if (request !== asked) return;
          pieces.push(piece);
          for (let at = piece.indexOf(EVENT_END); at !== -1; at = piece.indexOf(EVENT_END, at + 2)) count++;
        });
        response.on("close", () => request === asked && faults.push("it was closed"));
        resolve();
      });
      asked.on("error", (error) => {
        if (request === asked) faults.push(error.message);
        resolve();
      });
      request = asked;
      return promise;
    },
    drop(lost = 0) {
      const dropped = request;
      request = undefined;
      dropped?.destroy();
      const whole = gather();
      let end = whole.lastIndexOf(EVENT_END);
      for (let left = lost; left > 0 && end > 0; left--) end = whole.lastIndexOf(EVENT_END, end - 1);
      got = whole.subarray(0, end === -1 ? 0 : end + EVENT_END.length);
    },
  };
}

/** What comes on a control socket, as far as it is of interest here. */
interface Down {
  readonly type: string;
  readonly code?: string;
  readonly frames?: readonly string[];
  readonly cursor?: string;
}

export function createSocketReader(url: string, session: string): CrowdReader {
  const texts: string[] = [];
  const faults: string[] = [];
  let after: string | undefined;
  let socket: WebSocket | undefined;
  return {
    session,
    faults,
    get count() {
      return texts.length;
    },
    get got() {
      return texts.map((text) => `${text}\n`).join("");
    },
    come() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const opened = new WebSocket(`${url.replace("http", "ws")}/v1/ws`, { perMessageDeflate: false });
      socket = opened;
      opened.on("open", () =>
        opened.send(JSON.stringify({ type: "subscribe", id: "s", session, ...(after === undefined ? {} : { after }) })),
      );
      opened.on("message", (data: Buffer) => {
        if (socket !== opened) return;
        const { type, frames = [], cursor, code } = JSON.parse(data.toString()) as Down;
        if (type === "refusal") faults.push(code ?? "");
        if (type === "subscribed") resolve();
        if (type !== "frames") return;
        texts.push(...frames);
        after = cursor;
      });
      opened.on("error", (error) => socket === opened && faults.push(error.message));
      opened.on("close", (code) => {
        if (socket === opened) faults.push(`closed with ${code}`);
        resolve();
      });
      return promise;
    },
    drop() {
      const dropped = socket;
      socket = undefined;
      dropped?.terminate();
    },
  };
}
