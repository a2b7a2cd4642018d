// `loom serve` is killed while it answers real `openai` clients. After the restart they read exactly what they missed.
import { join } from "node:path";
import OpenAI from "openai";
import type { ResponseStreamEvent } from "openai/resources/responses/responses";
import { ResponsesWS } from "openai/resources/responses/ws";
import { afterEach, describe, expect, it } from "vitest";
import { folder } from "../cli-run.ts";
import { KILL_SAMPLES, LONG } from "../sampling.ts";
import { killServers, startServe } from "../start-serve.ts";
import { collect } from "./openai-fixture.ts";

afterEach(killServers);

const ROUNDS = Math.ceil(KILL_SAMPLES.kills / 6);
const QUESTION = "What is 17*23? Then tell me what you can do, in several sentences.";

/** A client, and what it has received. */
interface Received {
  readonly id: () => string;
  readonly events: ResponseStreamEvent[];
}

function idOf([first]: readonly ResponseStreamEvent[]): string {
  return first?.type === "response.created" ? first.response.id : "";
}

function follow(client: OpenAI, model: string): Received {
  const events: ResponseStreamEvent[] = [];
  const read = async (): Promise<void> => {
    for await (const event of await client.responses.create({ model, input: QUESTION, stream: true }))
      events.push(event);
  };
  // The connection breaks with the server.
  read().catch(() => undefined);
  return { events, id: () => idOf(events) };
}

function followSocket(client: OpenAI, model: string): Received & { readonly closed: Promise<number> } {
  const events: ResponseStreamEvent[] = [];
  const socket = new ResponsesWS(client);
  const closed = Promise.withResolvers<number>();
  socket.on("event", (event) => void events.push(event as ResponseStreamEvent));
  socket.on("error", () => undefined);
  socket.on("close", (code) => closed.resolve(code));
  socket.send({ type: "response.create", model, input: QUESTION });
  return { events, id: () => idOf(events), closed: closed.promise };
}

const hasEnded = (events: readonly ResponseStreamEvent[]): boolean =>
  events.some(({ type }) => /^response\.(?:completed|incomplete|failed)$/.test(type));

describe("a server that is killed in the middle of responses", () => {
  it.runIf(LONG)("has them after its restart, and sends what the clients missed", { timeout: 600_000 }, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const store = join(folder, `openai-kill-${round}`, "loom.db");
      const args = ["--offline-delay", "40"];
      const killed = await startServe(store, args);
      const client = new OpenAI({ baseURL: `${killed.url}/openai/v1`, apiKey: "any", maxRetries: 0 });
      const model = (await client.models.list()).data[0]?.id ?? "";
      const background = await client.responses.create({ model, input: QUESTION, background: true });
      const socket = followSocket(client, model);
      const received: readonly Received[] = [follow(client, model), socket, { events: [], id: () => background.id }];
      const [streamed] = received;
      await expect
        .poll(() => Math.min(streamed?.events.length ?? 0, socket.events.length), { timeout: 60_000 })
        .toBeGreaterThan(3 + 2 * (round % 5));
      killed.process.kill("SIGKILL");
      await killed.ended;
      // A client is not told that its response is complete.
      expect(await socket.closed).toBe(1006);
      expect(received.map(({ events }) => hasEnded(events))).toEqual([false, false, false]);

      const server = await startServe(store, args);
      const again = new OpenAI({ baseURL: `${server.url}/openai/v1`, apiKey: "any", maxRetries: 0 });
      for (const { events, id } of received) {
        const from = events.length === 0 ? {} : { starting_after: events.length - 1 };
        const rest = await collect(await again.responses.retrieve(id(), { stream: true, ...from }));
        const whole = [...events, ...rest];
        expect(whole.map(({ sequence_number }) => sequence_number)).toEqual(whole.map((_, index) => index));
        expect(whole).toEqual(await collect(await again.responses.retrieve(id(), { stream: true })));
        const last = whole.at(-1);
        const { output_text, ...retrieved } = await again.responses.retrieve(id());
        expect(last).toMatchObject({ type: "response.completed" });
        expect(last !== undefined && "response" in last ? last.response : undefined).toEqual(retrieved);
        expect(output_text).toContain("391");
      }
      server.process.kill("SIGKILL");
      await server.ended;
    }
  });
});
