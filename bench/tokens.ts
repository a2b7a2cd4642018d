/**
 * Processor time per token from the model's stream to SSE bytes, for three programs with the same model:
 *
 * - our agent: model call, validation, stamping, commit to a log in memory, following reader, encoding, framing, in the
 *   dialects `loom` and `ai-sdk`;
 * - a plain loop that reads the stream and writes each token as a frame;
 * - `streamText` of the AI SDK to its UI message stream.
 *
 * `--quick` takes a tenth of the tokens.
 */
import { createUIMessageStreamResponse, streamText, toUIMessageStream } from "ai";
import { agent } from "../src/agents/index.ts";
import type { DialectName } from "../src/dialects/index.ts";
import { encodeSse } from "../src/framing/index.ts";
import { MemoryLog, openStream } from "../src/log/index.ts";
import { median, print, report, times, timeTokens } from "./measure.ts";
import { WordyModel } from "./wordy-model.ts";

const QUICK = process.argv.includes("--quick");
const TOKENS = QUICK ? 10_000 : 100_000;
const TURNS = QUICK ? 5 : 15;
/** Turns that do not count: a server runs longer than it takes to compile its hot code, ours and the peer's. */
const WARM_UP = 8;

const utf8 = new TextEncoder();

async function runPlain(words: number): Promise<number> {
  const { stream } = await new WordyModel(words).doStream();
  const reader = stream.getReader();
  let bytes = 0;
  let event_id = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return bytes;
    const { type, delta } = value as { readonly type: string; readonly delta?: string };
    if (type !== "text-delta") continue;
    event_id++;
    const frame = {
      session_id: "s",
      run_id: "run-1",
      node_id: "run-think-1",
      event_id,
      ts: Date.now(),
      type: "message_chunk",
      content: delta,
      id: "think",
    };
    bytes += utf8.encode(`id: ${event_id}\ndata: ${JSON.stringify(frame)}\n\n`).length;
  }
}

const runAgent = (words: number): Promise<number> => runIn("loom", '"reply":', words);
const runAsAiSdk = (words: number): Promise<number> => runIn("ai-sdk", '"type":"finish"', words);

/** `end` is a part of the last frame. */
async function runIn(dialect: DialectName, end: string, words: number): Promise<number> {
  const log = new MemoryLog();
  const actor = agent({ model: new WordyModel(words) });
  const session = await actor.openSession(log, "s");
  const run = await actor.answer(session, "Talk", { runId: "run-1" });
  const stop = new AbortController();
  let bytes = 0;
  for await (const frames of openStream(log, "s", { dialect, follow: true, signal: stop.signal })) {
    // One write per batch, as the server does.
    let text = "";
    for (const { text: data, cursor } of frames) text += encodeSse({ data, id: cursor });
    bytes += utf8.encode(text).length;
    if (frames.at(-1)?.text.includes(end) === true) stop.abort();
  }
  await run.ended;
  await session.close();
  await log.close();
  return bytes;
}

async function runPeer(words: number): Promise<number> {
  const result = streamText({ model: new WordyModel(words) as never, prompt: "Talk" });
  const response = createUIMessageStreamResponse({ stream: toUIMessageStream({ stream: result.stream }) });
  let bytes = 0;
  for await (const chunk of response.body ?? []) bytes += (chunk as Uint8Array).length;
  return bytes;
}

type Contestant = "ours" | "aiSdk" | "plain" | "peer" | "few";
const CONTESTANTS: readonly [Contestant, (words: number) => Promise<number>, number][] = [
  ["ours", runAgent, TOKENS],
  ["aiSdk", runAsAiSdk, TOKENS],
  ["plain", runPlain, TOKENS],
  ["peer", runPeer, TOKENS],
  ["few", runAgent, TOKENS / 10],
];

const turns: { readonly [name in Contestant]: number }[] = [];
for (let turn = -WARM_UP; turn < TURNS; turn++) {
  // The order changes, so that none always pays for the memory that the same other one left behind.
  const first = (turn + WARM_UP) % CONTESTANTS.length;
  const costs = { ours: 0, aiSdk: 0, plain: 0, peer: 0, few: 0 };
  for (const [name, run, tokens] of [...CONTESTANTS.slice(first), ...CONTESTANTS.slice(0, first)])
    costs[name] = await timeTokens(run, tokens);
  if (turn >= 0) turns.push(costs);
}
const cost = (name: Contestant): string => `${median(turns.map((turn) => turn[name])).toFixed(2)} µs`;
const overPlain = median(turns.map(({ ours, plain }) => ours / plain));
const underPeer = median(turns.map(({ ours, peer }) => peer / ours));
const aiSdkCost = median(turns.map(({ aiSdk, peer }) => aiSdk / peer));
const growth = median(turns.map(({ ours, few }) => ours / few));
print(`Processor time per token, from the model's stream to SSE bytes, ${TOKENS} tokens: ${cost("ours")}`);
const reached = [
  report("compared with a plain loop", times(overPlain), "≤ 2.5 ×", overPlain <= 2.5, cost("plain")),
  report("AI SDK compared with ours", times(underPeer), "≥ 5 ×", underPeer >= 5, cost("peer")),
  report("our ai-sdk stream compared with the AI SDK", times(aiSdkCost), "≤ 0.3 ×", aiSdkCost <= 0.3, cost("aiSdk")),
  report("cost per token with ten times the tokens", times(growth), "≤ 1.2 ×", growth <= 1.2),
];
process.exitCode = reached.every(Boolean) ? 0 : 1;
