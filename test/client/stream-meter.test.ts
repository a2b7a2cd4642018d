/** Metrics of the server when the receiver misses frames or is disconnected. */
import { expect, it, vi } from "vitest";
import { connect, createFetchTransport, createReceiver } from "../../src/client/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { MetricsCollector } from "../../src/observe/index.ts";
import { createEventsHandler } from "../../src/server/index.ts";
import { makeRun, writeRecords } from "../log-sessions.ts";

const CLOCK = {
  now: () => performance.now(),
  random: () => 0,
  setTimeout: (run: () => void, ms: number) => (ms > 5000 ? undefined : setTimeout(run, 1)),
  clearTimeout: (timer: unknown) => clearTimeout(timer as NodeJS.Timeout),
};

/** Follows a session of two runs; `harm` changes the first response. */
async function follow(harm: (text: string) => string, isCut: boolean) {
  const log = new MemoryLog();
  await writeRecords(log, [...makeRun("run-1"), ...makeRun("run-2", { after: 4 })]);
  const metrics = new MetricsCollector();
  const handler = createEventsHandler({ log, heartbeatMs: 0, allowPublic: true, meter: metrics });
  let isFirst = true;
  const fetch = async (request: Request): Promise<Response> => {
    const response = await handler(request);
    if (!isFirst) return response;
    isFirst = false;
    const decoder = new TextDecoder();
    const body = response.body?.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          controller.enqueue(new TextEncoder().encode(harm(decoder.decode(chunk))));
          if (isCut) controller.error(new Error("cut"));
        },
      }),
    );
    return new Response(body ?? null, response);
  };
  const receiver = createReceiver();
  const transport = createFetchTransport({ url: "http://loom.test", fetch });
  const connection = connect(receiver, { transport, session: "s", clock: CLOCK });
  await vi.waitFor(() => {
    const [session] = receiver.getSnapshot().sessions;
    expect(session?.turns.map(({ messages }) => messages.at(-1)?.mainContent)).toEqual(["of run-1", "of run-2"]);
  });
  await vi.waitFor(() => expect(metrics.summary().streams.frames).toBeGreaterThan(8));
  const { streams } = metrics.summary();
  connection.close();
  await vi.waitFor(() => expect(metrics.summary().streams.open).toBe(0));
  await log.close();
  return streams;
}

it("counts lost frames as a gap, not a resume", async () => {
  // Frames 6 and 7 do not arrive.
  const lose = (text: string): string => text.replaceAll(/id: \S+\.[67]\ndata: .*\n\n/g, "");
  expect(await follow(lose, false)).toMatchObject({ gaps: 1, resumed: 0, frames: 8 + 2 });
});

it("counts a lost connection as a resume, not a gap", async () => {
  const cut = (text: string): string => text.slice(0, text.indexOf("data: ", text.length / 2));
  expect(await follow(cut, true)).toMatchObject({ gaps: 0, resumed: 1 });
});
