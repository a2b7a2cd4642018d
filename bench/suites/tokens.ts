/**
 * From the stream of a model to bytes for a client: model call, validation, stamping, commit, reading, encoding, framing.
 * The peers are `streamText` of the AI SDK, and its form for one reader, with the UI message stream. They store nothing.
 * The limit is a plain loop that
 * writes each token as a frame.
 */
import { join } from "node:path";
import { agent } from "../../src/agents/index.ts";
import { fromAISDK, record } from "../../src/adapters/index.ts";
import type { DialectName } from "../../src/dialects/index.ts";
import { encodeSse } from "../../src/framing/index.ts";
import { type Log, MemoryLog, openPostgresLog, openSqliteLog, openStream } from "../../src/log/index.ts";
import { startPostgres } from "../../test/postgres-server.ts";
import type { Benchmark, Contestants, Prepare, Row } from "../benchmark.ts";
import { createFolder } from "../create-folder.ts";
import { WordyModel } from "../wordy-model.ts";

const utf8 = new TextEncoder();

interface Work {
  readonly dialect: DialectName;
  /** A part of the last frame. */
  readonly end: string;
}

const LOOM: Work = { dialect: "loom", end: '"reply":' };
const AI_SDK: Work = { dialect: "ai-sdk", end: '"type":"finish"' };
/** Streams at the same time, if tokens come at a rate: one alone leaves the processor idle. */
const PACED_STREAMS = 20;

/** Throws if the work was not done. */
function expectBytes(bytes: number, tokens: number): void {
  if (bytes < tokens * 20) throw new Error(`only ${bytes} bytes for ${tokens} tokens`);
}

let sessions = 0;

async function runAgent(log: Log, model: WordyModel, { dialect, end }: Work): Promise<number> {
  const sessionId = `s${++sessions}`;
  const actor = agent({ model });
  const session = await actor.openSession(log, sessionId);
  const run = await actor.answer(session, "Talk", { runId: "run-1" });
  const stop = new AbortController();
  let bytes = 0;
  for await (const frames of openStream(log, sessionId, { dialect, follow: true, signal: stop.signal })) {
    // One write per batch, as the server does.
    let text = "";
    for (const { text: data, cursor } of frames) text += encodeSse({ data, id: cursor });
    bytes += utf8.encode(text).length;
    if (frames.at(-1)?.text.includes(end) === true) stop.abort();
  }
  await run.ended;
  await session.close();
  return bytes;
}

const inMemory =
  (work: Work): Prepare =>
  (tokens) =>
  async () => {
    const log = new MemoryLog();
    expectBytes(await runAgent(log, new WordyModel(tokens), work), tokens);
    await log.close();
  };

const inStore =
  (open: () => Promise<Log>): Prepare =>
  async (tokens) => {
    const log = await open();
    return async () => expectBytes(await runAgent(log, new WordyModel(tokens), LOOM), tokens);
  };

const inSqlite = inStore(() => openSqliteLog(join(createFolder(), "loom.db")));
/** Without the processor time of the server, which ends with this process. */
const inPostgres = inStore(async () => openPostgresLog((await startPostgres({ isDurable: true })).url));

const paced =
  (rate: number, run: (model: WordyModel) => Promise<number>): Prepare =>
  (tokens) =>
  async () => {
    const each = tokens / PACED_STREAMS;
    const streams = Array.from({ length: PACED_STREAMS }, () => run(new WordyModel(each, { perSecond: rate })));
    expectBytes(
      (await Promise.all(streams)).reduce((sum, bytes) => sum + bytes, 0),
      tokens,
    );
  };

async function readBody(response: Response): Promise<number> {
  let bytes = 0;
  for await (const chunk of response.body ?? []) bytes += (chunk as Uint8Array).length;
  return bytes;
}

/** Encodes the texts itself: a response would pass them through one more stream. */
const runAiSdk =
  (isSmall: boolean) =>
  async (model: WordyModel): Promise<number> => {
    const { experimental_streamTextLowMemory, JsonToSseTransformStream, streamText, toUIMessageStream } =
      await import("ai");
    const start = isSmall ? experimental_streamTextLowMemory : streamText;
    const result = start({ model: model as never, prompt: "Talk" });
    const stream = toUIMessageStream({ stream: result.stream }).pipeThrough(new JsonToSseTransformStream());
    let bytes = 0;
    for await (const text of stream as AsyncIterable<string>) bytes += utf8.encode(text).length;
    return bytes;
  };

/** The same run of the AI SDK, recorded, and sent as its own UI message stream. */
async function runRecorded(model: WordyModel): Promise<number> {
  const { streamText } = await import("ai");
  const log = new MemoryLog();
  const source = fromAISDK(streamText({ model: model as never, prompt: "Talk" }));
  const run = await record(log, { sessionId: "s", message: "Talk" }, source);
  const bytes = await readBody(run.toResponse({ dialect: "ai-sdk" }));
  await run.ended;
  await log.close();
  return bytes;
}

const inFull =
  (run: (model: WordyModel) => Promise<number>): Prepare =>
  (tokens) =>
  async () =>
    expectBytes(await run(new WordyModel(tokens)), tokens);

async function runPlainly(model: WordyModel): Promise<number> {
  const { stream } = await model.doStream();
  let bytes = 0;
  let event_id = 0;
  for await (const part of stream) {
    const { type, delta } = part as { readonly type: string; readonly delta?: string };
    if (type !== "text-delta") continue;
    const ids = { session_id: "s", run_id: "run-1", node_id: "run-think-1", event_id: ++event_id, ts: Date.now() };
    const frame = { ...ids, type: "message_chunk", content: delta, id: "think" };
    bytes += utf8.encode(`id: ${event_id}\ndata: ${JSON.stringify(frame)}\n\n`).length;
  }
  return bytes;
}

const SIZES = [5000, 10_000, 20_000];
const sdk = (prepare: (run: (model: WordyModel) => Promise<number>) => Prepare): Contestants => ({
  "AI SDK 7 streamText, nothing stored": prepare(runAiSdk(false)),
  "AI SDK 7 streamTextLowMemory (experimental), nothing stored": prepare(runAiSdk(true)),
});
const peers = sdk(inFull);
const limits = { "plain loop": inFull(runPlainly) };
const pacedRow = (rate: number, each: number): Row => ({
  what: `${PACED_STREAMS} streams of ${each} tokens at ${rate} tokens/s, in memory`,
  unit: "token",
  sizes: [PACED_STREAMS * each],
  ours: paced(rate, (model) => runAgent(new MemoryLog(), model, AI_SDK)),
  peers: sdk((run) => paced(rate, run)),
  limits: { "plain loop": paced(rate, runPlainly) },
});

export const benchmark: Benchmark = {
  about: "CPU time from the stream of a model to bytes for a client",
  rows: [
    { what: "loom, in memory", unit: "token", sizes: SIZES, ours: inMemory(LOOM), limits },
    { what: "ai-sdk, in memory", unit: "token", sizes: SIZES, ours: inMemory(AI_SDK), peers, limits },
    { what: "loom, in SQLite", unit: "token", sizes: SIZES, ours: inSqlite, limits },
    {
      what: "loom, in PostgreSQL, whose own time is not counted",
      unit: "token",
      sizes: [10_000],
      ours: inPostgres,
      limits,
    },
    { what: "a run of the AI SDK, recorded and sent", unit: "token", sizes: SIZES, ours: inFull(runRecorded), peers },
    pacedRow(50, 50),
    pacedRow(500, 500),
  ],
};
