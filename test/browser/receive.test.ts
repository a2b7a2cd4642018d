// The receiver in a real Chromium: golden runs over HTTP, with every response cut within a frame. The final view must
// equal the one Node creates from the same frames.
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createReceiver } from "../../src/client/index.ts";
import type { ReceiverView } from "../../src/client/view.ts";
import { encodeNdjson, encodeSse } from "../../src/framing/index.ts";
import { FORMS, frameText, readVector, VECTORS } from "../vectors.ts";
import { closeContexts, hasChromium, shareChromium } from "./launch.ts";
import { type PageRequestHandler, runPage } from "./page.ts";
import type { ReceiveOutcome, StreamOffer } from "./receive-page.ts";

const RUNS: readonly (readonly [run: string, form: string, framing: "sse" | "ndjson"])[] = [
  ["react-tools", "loom", "sse"],
  ["three-turns", "loom", "ndjson"],
  ["agot-expand", "loom", "sse"],
  ["todo-image", "engine", "sse"],
  ["three-turns", "lumine", "sse"],
];

/** Frames delivered before a response is cut. */
const FRAMES_PER_ANSWER = 4;

const streams = RUNS.map(([run, form, framing], index) => {
  const { encodings, records } = readVector(join(VECTORS, "runs", `${run}.json`));
  const frames = (encodings[form] ?? []).flat().map(frameText);
  const session = records.flat()[0]?.envelope.session_id ?? "session";
  const offer: StreamOffer = { run: `${index}-${run}`, session, dialect: FORMS[form]?.dialect ?? "loom", framing };
  return { offer, frames };
});

/** Returns how many frames precede the requested position: a test cursor, or a record number. */
function findStart(frames: readonly string[], query: URLSearchParams): number {
  const after = query.get("after");
  const skip = Number(query.get("skip") ?? 0);
  if (after === null) return skip;
  if (after.startsWith("frame-")) return Number(after.slice("frame-".length)) + skip;
  const last = frames.findLastIndex((text) => (JSON.parse(text) as { event_id?: number }).event_id === Number(after));
  return last + 1 + skip;
}

describe.skipIf(!hasChromium)("the receiver in a page (skipped without Chromium)", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await shareChromium();
  });
  afterAll(async () => {
    await closeContexts(browser);
  });

  it("completes over a connection that is cut repeatedly, with the same view as in Node", async () => {
    let answers = 0;
    const answer: PageRequestHandler = (_request, response, url) => {
      if (url.pathname === "/offers") {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify(streams.map((stream) => stream.offer)));
        return;
      }
      const stream = streams.find(({ offer }) => url.pathname === `/${offer.run}/v1/sessions/${offer.session}/events`);
      if (stream === undefined) response.writeHead(404).end();
      else sendPart(stream, response, url.searchParams);
      answers++;
    };
    const entry = join(import.meta.dirname, "receive-page.ts");
    const { outcome, complaints } = await runPage<ReceiveOutcome>(browser, entry, { answer });

    expect(answers).toBeGreaterThan(20);
    for (const [index, { offer, frames }] of streams.entries()) {
      const received = outcome[index] as ReceiveOutcome[number];
      const verified = offer.dialect !== "lumine";
      expect([offer.run, received.state]).toMatchObject([offer.run, { status: "complete", verified }]);
      expect(turnsOf(received.view)).toEqual(turnsOf(receiveAtOnce(offer, frames)));
    }
    expect(complaints.filter((complaint) => !complaint.includes("net::ERR_"))).toEqual([]);
  });
});

/** Sends a few frames and part of the next, then breaks the connection; the last response ends normally. */
function sendPart({ offer, frames }: (typeof streams)[number], response: ServerResponse, query: URLSearchParams): void {
  const isSse = offer.framing === "sse";
  response.writeHead(200, { "content-type": isSse ? "text/event-stream" : "application/x-ndjson" });
  const start = findStart(frames, query);
  const end = Math.min(start + FRAMES_PER_ANSWER, frames.length);
  const encode = (index: number): string =>
    isSse ? encodeSse({ data: frames[index] ?? "", id: `frame-${index + 1}` }) : encodeNdjson(frames[index] ?? "");
  let text = "";
  for (let index = start; index < end; index++) text += encode(index);
  if (end === frames.length) response.end(text);
  else {
    text += encode(end).slice(0, 40);
    response.write(text, () => setTimeout(() => response.destroy(), 5));
  }
}

function receiveAtOnce({ dialect, session }: StreamOffer, frames: readonly string[]): ReceiverView {
  const receiver = createReceiver();
  const source = receiver.open({ dialect, session });
  for (const text of frames) source.push(text);
  source.end();
  return receiver.getSnapshot();
}

function turnsOf({ sessions }: ReceiverView): unknown {
  return sessions.map(({ id, turns, todoLists, others }) => ({ id, turns, todoLists, others }));
}
