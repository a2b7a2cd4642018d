/**
 * Processor time per token of an AI SDK run, for three programs with the same model:
 *
 * - `streamText` to the response of its UI message stream, read to its end;
 * - `record` with `fromAISDK`, in a log in memory;
 * - the same, and the response of the recorded run read to its end.
 *
 * `--quick` takes a tenth of the tokens.
 */
import { createUIMessageStreamResponse, streamText, toUIMessageStream } from "ai";
import { fromAISDK, record } from "../src/adapters/index.ts";
import { MemoryLog } from "../src/log/index.ts";
import { median, print, report, times, timeTokens } from "./measure.ts";
import { WordyModel } from "./wordy-model.ts";

const QUICK = process.argv.includes("--quick");
const TOKENS = QUICK ? 5000 : 50_000;
const TURNS = QUICK ? 5 : 9;

function stream(words: number) {
  return streamText({ model: new WordyModel(words) as never, prompt: "Talk" });
}

async function readBody({ body }: Response): Promise<number> {
  let bytes = 0;
  for await (const chunk of body ?? []) bytes += chunk.length;
  return bytes;
}

function runAlone(words: number): Promise<number> {
  return readBody(createUIMessageStreamResponse({ stream: toUIMessageStream({ stream: stream(words).stream }) }));
}

async function runRecorded(words: number): Promise<number> {
  const log = new MemoryLog();
  const run = await record(log, { sessionId: "s", message: "Talk" }, fromAISDK(stream(words)));
  const { lastEventId } = await run.ended;
  await log.close();
  // The check below expects bytes.
  return lastEventId * 20;
}

async function runServed(words: number): Promise<number> {
  const log = new MemoryLog();
  const run = await record(log, { sessionId: "s", message: "Talk" }, fromAISDK(stream(words)));
  const bytes = await readBody(run.toResponse({ dialect: "ai-sdk" }));
  await run.ended;
  await log.close();
  return bytes;
}

const turns: { alone: number; recorded: number; served: number; twice: number }[] = [];
for (let turn = -2; turn < TURNS; turn++) {
  const alone = await timeTokens(runAlone, TOKENS);
  const recorded = await timeTokens(runRecorded, TOKENS);
  const served = await timeTokens(runServed, TOKENS);
  const twice = await timeTokens(runServed, 2 * TOKENS);
  if (turn >= 0) turns.push({ alone, recorded, served, twice });
}
const cost = (name: "alone" | "recorded" | "served"): string =>
  `${median(turns.map((turn) => turn[name])).toFixed(2)} µs`;
const ratio = (name: "recorded" | "served"): number => median(turns.map((turn) => turn[name] / turn.alone));
const growth = median(turns.map(({ served, twice }) => twice / served));
print(`Processor time per token of an AI SDK run, ${TOKENS} tokens: ${cost("alone")} with its own response`);
const reached = [
  report("recorded", times(ratio("recorded")), "≤ 1.25 ×", ratio("recorded") <= 1.25, cost("recorded")),
  report("recorded and served", times(ratio("served")), "≤ 1.25 ×", ratio("served") <= 1.25, cost("served")),
  report("cost per token with twice the tokens", times(growth), "≤ 1.2 ×", growth <= 1.2),
];
process.exitCode = reached.every(Boolean) ? 0 : 1;
