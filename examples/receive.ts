// Receives a run over a connection that breaks, duplicates frames and reorders them: the message is still complete, and
// the receiver can prove it. Then it receives the same frames without the last ones.
//
//   npx node examples/receive.ts
import { MemoryLog, openStream, StreamingEngine } from "loom-agent";
import type { DialectName } from "loom-agent/dialects";
import type { StreamFrame } from "loom-agent/log";
import { connect, createReceiver, type Receiver, type Transport } from "loom-agent/client";

const session = "demo";

/** Writes a short run to a log. */
async function writeRun(): Promise<MemoryLog> {
  const log = new MemoryLog();
  const engine = new StreamingEngine("request-1", { log });
  await engine.emitSessionStart(session);
  for (const word of "The answer is 42, and each word arrived once.".split(/(?<= )/)) await engine.emitContent(word);
  await engine.emitSessionEnd("completed");
  return log;
}

async function readFrames(log: MemoryLog, dialect: DialectName, cursor?: string): Promise<StreamFrame[]> {
  const frames: StreamFrame[] = [];
  for await (const batch of openStream(log, session, { dialect, cursor })) frames.push(...batch);
  return frames;
}

/** A connection that breaks after five frames, reorders some and duplicates one. */
function createUnreliableTransport(log: MemoryLog): Transport {
  return {
    async open({ dialect, from }, sink) {
      const frames = await readFrames(log, dialect, from.after);
      const [a, b, c, d, e] = frames;
      for (const frame of [b, a, c, c, e, d]) if (frame !== undefined) sink.frame(frame.text, frame.cursor);
      return frames.length > 5 ? { kind: "lost", message: "connection lost" } : { kind: "ended" };
    },
    send: async () => ({ kind: "refused", code: "unsupported", message: "this transport only receives" }),
    close: () => undefined,
  };
}

function print(receiver: Receiver): void {
  for (const { turns, state } of receiver.getSnapshot().sessions) {
    console.log(turns.at(-1)?.messages.at(-1)?.mainContent);
    console.log(
      `${state.status}${state.verified ? ", verified" : ""}${state.reason ? `: ${state.reason.message}` : ""}`,
    );
  }
}

const log = await writeRun();

const receiver = createReceiver();
const transport = createUnreliableTransport(log);
await connect(receiver, { transport, session, follow: false, reconnect: { initialMs: 1 } }).done;
print(receiver);

const second = createReceiver();
const source = second.open();
for (const { text } of (await readFrames(log, "loom")).slice(0, -4)) source.push(text);
source.end();
print(second);
