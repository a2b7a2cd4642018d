// The proxy does what it is asked to, and nothing else: what passes is what was sent.
import { createServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { createRandom, type FaultPlan, startFaultProxy } from "./fault-proxy.ts";

const FRAMES = Array.from({ length: 6 }, (_, index) => `data: frame ${index}\n\n`);

/** A server of six frames, in three chunks, behind the proxy. */
async function setStage(plan: FaultPlan) {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    void speakAll(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxy = await startFaultProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, plan);
  onTestFinished(async () => {
    await proxy.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return proxy;
}

async function speakAll(response: ServerResponse): Promise<void> {
  for (let at = 0; at < FRAMES.length; at += 2) {
    response.write(FRAMES.slice(at, at + 2).join(""));
    // What is written in one turn becomes one chunk.
    await setImmediate();
  }
  response.end();
}

interface Got {
  readonly text: string;
  readonly end: "end" | "reset";
}

/** Everything that comes until the connection is over, as it comes. */
async function ask(port: number, onText: (text: string) => void = () => undefined): Promise<Got> {
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  let end: Got["end"] = "end";
  socket.on("data", (piece) => onText((text += piece.toString())));
  socket.on("error", () => (end = "reset"));
  socket.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  await new Promise((resolve) => socket.once("close", resolve));
  return { text, end };
}

function framesOf(text: string): string[] {
  return text.match(/data: frame \d\n\n/g) ?? [];
}

test("without a fault all passes", async () => {
  const proxy = await setStage(() => undefined);
  const { text } = await ask(proxy.port);
  expect(framesOf(text)).toEqual(FRAMES);
  expect([proxy.count, proxy.breaches]).toEqual([1, 0]);
});

test("cuts after every frame, also inside of a chunk", async () => {
  for (const how of ["end", "reset"] as const)
    for (let frames = 1; frames <= FRAMES.length; frames++) {
      const proxy = await setStage(() => ({ breach: { frames, how } }));
      const got = await ask(proxy.port);
      expect(framesOf(got.text)).toEqual(FRAMES.slice(0, frames));
      expect(got.text.endsWith(FRAMES[frames - 1] as string)).toBe(true);
      // What was reset may lose what was on its way, but here it was read.
      expect([got.end, proxy.breaches]).toEqual([how, 1]);
    }
});

test("cuts after so many bytes, down and up", async () => {
  const whole = (await ask((await setStage(() => undefined)).port)).text;
  const random = createRandom(7);
  for (let round = 0; round < 10; round++) {
    const bytes = 1 + random(whole.length - 1);
    const proxy = await setStage(() => ({ breach: { bytes, how: "end" } }));
    expect((await ask(proxy.port)).text).toHaveLength(bytes);
  }
  const deaf = await setStage(() => ({ breach: { bytes: 5, direction: "up", how: "end" } }));
  expect((await ask(deaf.port)).text).toBe("");
});

test("half open: nothing comes, nothing ends, until it is healed", async () => {
  const proxy = await setStage((index) => (index === 0 ? { breach: { frames: 2, how: "stall" } } : undefined));
  let seen = "";
  const going = ask(proxy.port, (text) => (seen = text));
  await vi.waitFor(() => expect(framesOf(seen)).toHaveLength(2));
  await vi.waitFor(() => expect(proxy.breaches).toBe(1));
  expect(framesOf((await ask(proxy.port)).text)).toEqual(FRAMES);
  proxy.heal();
  const { text, end } = await going;
  expect([framesOf(text).length, end]).toEqual([2, "reset"]);
});

test("dribbles, delays and says twice", async () => {
  const pieces: number[] = [];
  const slow = await setStage(() => ({ dribble: 1000, delayMs: 1 }));
  const socket = connect({ port: slow.port, host: "127.0.0.1" });
  socket.on("data", (piece) => pieces.push(piece.length));
  socket.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  await once(socket, "close");
  expect(pieces.length).toBeGreaterThan(FRAMES.length * 2);
  const twice = await setStage(() => ({ doubleEach: 2 }));
  const [a, b, c, d, e, f] = FRAMES;
  expect(framesOf((await ask(twice.port)).text)).toEqual([a, b, c, d, c, d, e, f]);
  const response = await fetch(twice.url);
  expect(framesOf(await response.text())).toHaveLength(8);
});
