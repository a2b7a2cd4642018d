/**
 * Processor time per token of an agent's run without observers and with three callbacks and metrics, and the delay of
 * the first token if callbacks hang. The contestants take turns.
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

interface Observers {
  readonly options: Pick<AgentOptions, "callbacks" | "callbackOptions" | "metrics">;
  /** Waits until all callbacks have run, and checks that they have. */
  finish(actor: Agent): Promise<void>;
}

const NO_OBSERVERS: Observers = { options: { metrics: false }, finish: () => Promise.resolve() };

/** Three callbacks and metrics. */
function createObservers(textDelta: boolean): Observers {
  const received = [0, 0, 0];
  const callbacks = received.map((_, index): Callback => ({
    textDelta,
    onEvent: async () => {
      received[index] = (received[index] ?? 0) + 1;
    },
  }));
  return {
    options: { callbacks, callbackOptions: { maxBacklog: 1_000_000 } },
    async finish(actor) {
      await actor.flush(60_000);
      if (received.some((count) => count < 2))
        throw new Error(`the callbacks received ${received.join()} events; expected at least 2 each`);
    },
  };
}

async function runAgent(words: number, observers: Observers): Promise<void> {
  const log = new MemoryLog();
  const actor = agent({ model: new WordyModel(words), ...observers.options });
  const session = await actor.openSession(log, "s");
  const { status } = await (await actor.answer(session, "Talk", { source: "stream" })).ended;
  if (status !== "completed") throw new Error(`the run ended as ${status}`);
  await observers.finish(actor);
  await session.close();
  await log.close();
}

/** Processor time per token, in microseconds. */
async function timeOf(words: number, observers: Observers): Promise<number> {
  const before = process.cpuUsage();
  await runAgent(words, observers);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / words;
}

interface FirstToken {
  readonly cpu: number;
  readonly wall: number;
  /** The first token arrived before the callback returned. */
  readonly isBeforeCallbacks: boolean;
}

/** Measures from the call to the first token at the caller. */
async function timeFirstToken(hangs: boolean): Promise<FirstToken> {
  const gate = Promise.withResolvers<void>();
  let hasReturned = false;
  const hanging: Callback = {
    textDelta: true,
    async onEvent() {
      await gate.promise;
      hasReturned = true;
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
    first = { cpu: user + system, wall: (performance.now() - since) * 1000, isBeforeCallbacks: !hasReturned };
  }
  gate.resolve();
  if (first === undefined) throw new Error("the run emitted no token");
  return first;
}

const turns: { plain: number; observed: number; eager: number; few: number }[] = [];
for (let turn = -2; turn < TURNS; turn++) {
  // The order alternates, so that neither always runs after the other's garbage.
  const early = turn % 2 === 0 ? await timeOf(TOKENS, NO_OBSERVERS) : undefined;
  const observed = await timeOf(TOKENS, createObservers(false));
  const plain = early ?? (await timeOf(TOKENS, NO_OBSERVERS));
  const eager = await timeOf(TOKENS / 10, createObservers(true));
  const few = await timeOf(TOKENS / 10, createObservers(false));
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
const isBeforeCallbacks = firsts.every(({ beside }) => beside.isBeforeCallbacks);
print(
  `Processor time per token of an agent's run, ${TOKENS} tokens: ${cost("plain")}; with observers: ${cost("observed")}`,
);
print(`with three callbacks that receive text deltas: ${cost("eager")}`);
print(`first token with callbacks that hang: ${times(cpu)} processor time, ${times(wall)} wall time`);
const reached = [
  report("cost of three callbacks and metrics", times(added), "≤ 1.10 ×", added <= 1.1),
  report("first token arrives before hanging callbacks return", String(isBeforeCallbacks), "true", isBeforeCallbacks),
  report("cost per token with ten times the tokens", times(growth), "≤ 1.2 ×", growth <= 1.2),
];
process.exitCode = reached.every(Boolean) ? 0 : 1;
