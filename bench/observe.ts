/**
 * What it costs to be looked at: the processor time of one token of an agent's run with nobody looking, and with three
 * callbacks and metrics; and what a callback that hangs does to the first token. The contestants take turns.
 *
 * `--quick` takes a tenth of the tokens.
 */
import { type Agent, agent, type AgentOptions } from "../src/agents/index.ts";
import { MemoryLog } from "../src/log/index.ts";
import type { Callback } from "../src/observe/index.ts";
import { median, print, report, times } from "./measure.ts";
import { WordyModel } from "./wordy-model.ts";

const QUICK = process.argv.includes("--quick");
const TOKENS = QUICK ? 10_000 : 100_000;
const TURNS = QUICK ? 7 : 15;

interface Lookers {
  readonly options: Pick<AgentOptions, "callbacks" | "callbackOptions" | "metrics">;
  /** Waits until all was told, and sees that it was. */
  finish(actor: Agent): Promise<void>;
}

const NOBODY: Lookers = { options: { metrics: false }, finish: () => Promise.resolve() };

/** Three callbacks and metrics. */
function createLookers(textDelta: boolean): Lookers {
  const told = [0, 0, 0];
  const callbacks = told.map((_, index): Callback => ({
    textDelta,
    onEvent: async () => {
      told[index] = (told[index] ?? 0) + 1;
    },
  }));
  return {
    options: { callbacks, callbackOptions: { maxBacklog: 1_000_000 } },
    async finish(actor) {
      await actor.flush(60_000);
      if (told.some((count) => count < 2)) throw new Error(`the callbacks were told ${told.join()} events`);
    },
  };
}

async function runAgent(words: number, lookers: Lookers): Promise<void> {
  const log = new MemoryLog();
  const actor = agent({ model: new WordyModel(words), ...lookers.options });
  const session = await actor.openSession(log, "s");
  const { status } = await (await actor.answer(session, "Talk", { source: "stream" })).ended;
  if (status !== "completed") throw new Error(`the run ended as ${status}`);
  await lookers.finish(actor);
  await session.close();
  await log.close();
}

/** Processor time per token, in microseconds. */
async function timeOf(words: number, lookers: Lookers): Promise<number> {
  const before = process.cpuUsage();
  await runAgent(words, lookers);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / words;
}

interface FirstToken {
  readonly cpu: number;
  readonly wall: number;
  /** The callback had not come back when the first token was there. */
  readonly isFree: boolean;
}

/** From the question to the first token in the reader's hands. */
async function timeFirstToken(hangs: boolean): Promise<FirstToken> {
  const gate = Promise.withResolvers<void>();
  let isBack = false;
  const hanging: Callback = {
    textDelta: true,
    async onEvent() {
      await gate.promise;
      isBack = true;
    },
  };
  const callbacks = hangs ? [hanging, { ...hanging }, { ...hanging }] : [];
  await using actor = agent({ model: new WordyModel(20), callbacks });
  const before = process.cpuUsage();
  const since = performance.now();
  let first: FirstToken | undefined;
  for await (const event of actor.stream("Talk")) {
    if (event.type !== "text_delta" || first !== undefined) continue;
    const { user, system } = process.cpuUsage(before);
    first = { cpu: user + system, wall: (performance.now() - since) * 1000, isFree: !isBack };
  }
  gate.resolve();
  if (first === undefined) throw new Error("no token came");
  return first;
}

const turns: { plain: number; observed: number; eager: number; few: number }[] = [];
for (let turn = -2; turn < TURNS; turn++) {
  // Each goes first every other turn, so that nobody always runs after the other's garbage.
  const early = turn % 2 === 0 ? await timeOf(TOKENS, NOBODY) : undefined;
  const observed = await timeOf(TOKENS, createLookers(false));
  const plain = early ?? (await timeOf(TOKENS, NOBODY));
  const eager = await timeOf(TOKENS / 10, createLookers(true));
  const few = await timeOf(TOKENS / 10, createLookers(false));
  if (turn >= 0) turns.push({ plain, observed, eager, few });
}
const firsts: { alone: FirstToken; beside: FirstToken }[] = [];
for (let turn = -50; turn < 200; turn++) {
  const alone = await timeFirstToken(false);
  const beside = await timeFirstToken(true);
  if (turn >= 0) firsts.push({ alone, beside });
}
const cost = (name: keyof (typeof turns)[number]): string => `${median(turns.map((turn) => turn[name])).toFixed(2)} µs`;
const added = median(turns.map(({ plain, observed }) => observed / plain));
const growth = median(turns.map(({ observed, few }) => observed / few));
const cpu = median(firsts.map(({ alone, beside }) => beside.cpu / alone.cpu));
const wall = median(firsts.map(({ alone, beside }) => beside.wall / alone.wall));
const isFree = firsts.every(({ beside }) => beside.isFree);
print(`one token of an agent's run, ${TOKENS} of them: ${cost("plain")}; observed: ${cost("observed")}`);
print(`told to three callbacks that ask for text: ${cost("eager")}`);
print(`the first token beside callbacks that hang: ${times(cpu)} processor time, ${times(wall)} wall time`);
const reached = [
  report("three callbacks and metrics", times(added), "≤ 1.10 ×", added <= 1.1),
  report("the first token comes before callbacks that hang", String(isFree), "true", isFree),
  report("per token, at ten times the tokens", times(growth), "≤ 1.2 ×", growth <= 1.2),
];
process.exitCode = reached.every(Boolean) ? 0 : 1;
