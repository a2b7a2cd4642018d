// Checks that the proxy injects only the planned faults and otherwise passes data unchanged.
import { createServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { createRandom, type FaultPlan, startFaultProxy } from "./fault-proxy.ts";

const FRAMES = Array.from({ length: 6 }, (_, index) => `data: frame ${index}\n\n`);

/** Starts a server behind the proxy that sends six frames in three chunks. */
async function createFixture(plan: FaultPlan) {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    void writeFrames(response);
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

async function writeFrames(response: ServerResponse): Promise<void> {
  for (let at = 0; at < FRAMES.length; at += 2) {
    response.write(FRAMES.slice(at, at + 2).join(""));
    // Everything written in one tick becomes one chunk.
    await setImmediate();
  }
  response.end();
}

interface ReceivedResponse {
  readonly text: string;
  readonly end: "end" | "reset";
}

/** Resolves to everything received until the connection is closed. */
async function ask(port: number, onText: (text: string) => void = () => undefined): Promise<ReceivedResponse> {
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  let end: ReceivedResponse["end"] = "end";
  socket.on("data", (piece) => onText((text += piece.toString())));
  socket.on("error", () => (end = "reset"));
  socket.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  await new Promise((resolve) => socket.once("close", resolve));
  return { text, end };
}

function findFrames(text: string): string[] {
  return text.match(/data: frame \d\n\n/g) ?? [];
}

test("passes everything without a fault", async () => {
  const proxy = await createFixture(() => undefined);
  const { text } = await ask(proxy.port);
  expect(findFrames(text)).toEqual(FRAMES);
  expect([proxy.count, proxy.breaches]).toEqual([1, 0]);
});

test("cuts after any frame, even inside a chunk", async () => {
  for (const how of ["end", "reset"] as const)
    for (let frames = 1; frames <= FRAMES.length; frames++) {
      const proxy = await createFixture(() => ({ breach: { frames, how } }));
      const response = await ask(proxy.port);
      expect(findFrames(response.text)).toEqual(FRAMES.slice(0, frames));
      expect(response.text.endsWith(FRAMES[frames - 1] as string)).toBe(true);
      // A reset may lose data in flight, but here it was read before.
      expect([response.end, proxy.breaches]).toEqual([how, 1]);
    }
});

test("cuts after any byte, in both directions", async () => {
  const whole = (await ask((await createFixture(() => undefined)).port)).text;
  const random = createRandom(7);
  for (let round = 0; round < 10; round++) {
    const bytes = 1 + random(whole.length - 1);
    const proxy = await createFixture(() => ({ breach: { bytes, how: "end" } }));
    expect((await ask(proxy.port)).text).toHaveLength(bytes);
  }
  const cutUp = await createFixture(() => ({ breach: { bytes: 5, direction: "up", how: "end" } }));
  expect((await ask(cutUp.port)).text).toBe("");
});

test("stalls a connection until it is healed", async () => {
  const proxy = await createFixture((index) => (index === 0 ? { breach: { frames: 2, how: "stall" } } : undefined));
  let seen = "";
  const going = ask(proxy.port, (text) => (seen = text));
  await vi.waitFor(() => expect(findFrames(seen)).toHaveLength(2));
  await vi.waitFor(() => expect(proxy.breaches).toBe(1));
  expect(findFrames((await ask(proxy.port)).text)).toEqual(FRAMES);
  proxy.heal();
  const { text, end } = await going;
  expect([findFrames(text).length, end]).toEqual([2, "reset"]);
});

test("dribbles, delays and duplicates", async () => {
  const pieces: number[] = [];
  const slow = await createFixture(() => ({ dribble: 1000, delayMs: 1 }));
  const socket = connect({ port: slow.port, host: "127.0.0.1" });
  socket.on("data", (piece) => pieces.push(piece.length));
  socket.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  await once(socket, "close");
  expect(pieces.length).toBeGreaterThan(FRAMES.length * 2);
  const twice = await createFixture(() => ({ doubleEach: 2 }));
  const [a, b, c, d, e, f] = FRAMES;
  expect(findFrames((await ask(twice.port)).text)).toEqual([a, b, c, d, c, d, e, f]);
  const response = await fetch(twice.url);
  expect(findFrames(await response.text())).toHaveLength(8);
});
