// Receives a run over a line that breaks again and again, doubles frames and brings them in the wrong order: the message
// is whole all the same, and the receiver can prove it. Then it is handed the same frames without the last ones.
//
//   npx node examples/receive.ts
import { type DialectName, MemoryLog, openStream, type StreamFrame, StreamingEngine } from "loom-agent";
import { connect, createReceiver, type Receiver, type Transport } from "loom-agent/client";

const session = "demo";

/** A run of a few words, in a log. */
async function writeRun(): Promise<MemoryLog> {
  const log = new MemoryLog();
  const engine = new StreamingEngine("request-1", { log });
  await engine.emitSessionStart(session);
  for (const word of "The answer is 42, and every word of it came once.".split(/(?<= )/))
    await engine.emitContent(word);
  await engine.emitSessionEnd("completed");
  return log;
}

async function readFrames(log: MemoryLog, dialect: DialectName, cursor?: string): Promise<StreamFrame[]> {
  const frames: StreamFrame[] = [];
  for await (const batch of openStream(log, session, { dialect, cursor })) frames.push(...batch);
  return frames;
}

/** The line: five frames come through before it breaks, some in the wrong order and one of them twice. */
function createBadLine(log: MemoryLog): Transport {
  return {
    async open({ dialect, from }, sink) {
      const frames = await readFrames(log, dialect, from.after);
      const [a, b, c, d, e] = frames;
      for (const frame of [b, a, c, c, e, d]) if (frame !== undefined) sink.frame(frame.text, frame.cursor);
      return frames.length > 5 ? { kind: "lost", message: "the line broke" } : { kind: "ended" };
    },
    send: async () => ({ kind: "refused", code: "unsupported", message: "nothing goes up this line" }),
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
const transport = createBadLine(log);
await connect(receiver, { transport, session, follow: false, reconnect: { initialMs: 1 } }).done;
print(receiver);

const second = createReceiver();
const source = second.open();
for (const { text } of (await readFrames(log, "loom")).slice(0, -4)) source.push(text);
source.end();
print(second);
