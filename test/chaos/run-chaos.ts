/**
 * Holds conversations with two servers on one store while faults happen at random, and returns what was violated:
 *
 * - Every accepted message has exactly one run, with one start and one end.
 * - Every client shows the same as a fresh client, and the bytes of every stream equal the replay.
 * - No tool call ran twice.
 * - Memory and open files of the server that is never killed do not grow.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import { type ChaosWorld, openWorld } from "./chaos-world.ts";
import { holdConversation } from "./conversation.ts";
import { FAULTS } from "./faults.ts";

export interface ChaosOptions {
  readonly seconds: number;
  readonly sessions: number;
  readonly seed: number;
  /** Messages per session. A session that has had them is checked and replaced by another. */
  readonly messages: number;
  /** Messages that a flood sends to one session at once: more than it queues. Default: 40. */
  readonly floodMessages?: number;
  /** Called for progress. */
  readonly print?: (line: string) => void;
}

export interface ChaosReport {
  readonly violations: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
}

const MEASURE_MS = 20_000;
const PROGRESS_MS = 60_000;
/** A request without an answer for this long is shown. */
const UNANSWERED_MS = 10_000;
/** Growth of the heap in bytes and of the number of open files that is not a leak. */
const HEAP_TOLERANCE = 32 * 1024 * 1024;
const FILES_TOLERANCE = 100;

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seconds, sessions, seed, messages, floodMessages = 40, print = () => undefined } = options;
  const world = await openWorld(seed, floodMessages);
  const over = AbortSignal.timeout(seconds * 1000);
  const samples: Sample[] = [];
  // The proxies and clients share this process: if it is late, so is everything it measures.
  const delay = monitorEventLoopDelay();
  delay.enable();
  try {
    const conversing = Array.from({ length: sessions }, async (_, index) => {
      for (let round = 0; !over.aborted; round++)
        await holdConversation(world, `talk-${index}-${round}`, { count: messages, signal: over });
    });
    let shown = 0;
    const reporting = setInterval(() => {
      print(`${describe(world)}; delay of this process: ${describeDelay(delay)}`);
      for (; shown < world.violations.length; shown++) print(`violation: ${world.violations[shown]}`);
      for (const { proxy } of world.servers)
        for (const line of proxy.listUnanswered(UNANSWERED_MS).slice(0, 5)) print(`no answer: ${line}`);
      delay.reset();
    }, PROGRESS_MS);
    await Promise.all([causeFaults(world, over, print), measure(world, over, samples)]);
    await Promise.all(conversing);
    clearInterval(reporting);
    const notes = world.readNotes();
    world.count("tool calls", notes.length);
    const seen = new Set<string>();
    for (const key of notes) {
      if (seen.has(key)) world.violations.push(`the tool call of ${key} ran twice`);
      seen.add(key);
    }
    world.violations.push(...findGrowth(samples));
    const [first, last] = [samples[0], samples.at(-1)];
    if (first !== undefined && last !== undefined)
      print(`memory ${first.heap >> 20} → ${last.heap >> 20} MiB, open files ${first.files} → ${last.files}`);
    return { violations: world.violations, counts: world.counts };
  } finally {
    await world.close();
  }
}

/** Causes one random fault after the other; some go on while the next ones happen. */
async function causeFaults(world: ChaosWorld, over: AbortSignal, print: (line: string) => void): Promise<void> {
  const running = new Map<string, Promise<void>>();
  const bag = Object.entries(FAULTS).flatMap(([name, { weight }]) => Array.from({ length: weight }, () => name));
  while (!over.aborted) {
    await setTimeout(world.random(800));
    const name = world.pick(bag);
    // A fault is not caused twice at the same time.
    if (running.has(name)) continue;
    world.count(`fault: ${name}`);
    const fault = FAULTS[name]?.run(world).catch((error: unknown) => {
      print(`${name}: ${String(error)}`);
      world.violations.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    });
    if (fault !== undefined)
      running.set(
        name,
        fault.finally(() => void running.delete(name)),
      );
  }
  await Promise.all(running.values());
  for (const { proxy } of world.servers) proxy.heal();
}

interface Sample {
  readonly heap: number;
  readonly files: number;
}

/** Measures the server that is never killed. */
async function measure({ servers: [, steady] }: ChaosWorld, over: AbortSignal, samples: Sample[]): Promise<void> {
  while (!over.aborted) {
    await setTimeout(MEASURE_MS, undefined, { signal: over }).catch(() => undefined);
    steady.tell("measure");
    const line = await waitForLine(steady.child.lines, samples.length);
    const [, heap, files] = line?.split(" ").map(Number) ?? [];
    if (heap !== undefined && files !== undefined) samples.push({ heap, files });
  }
}

async function waitForLine(lines: readonly string[], index: number): Promise<string | undefined> {
  for (let wait = 0; wait < 200; wait++) {
    const found = lines.filter((line) => line.startsWith("measure"))[index];
    if (found !== undefined) return found;
    await setTimeout(100);
  }
  return undefined;
}

/** Compares the end with the time after the start: the least of several samples, because load comes and goes. */
function findGrowth(samples: readonly Sample[]): readonly string[] {
  if (samples.length < 12) return [];
  const quarter = Math.floor(samples.length / 4);
  const least = (part: readonly Sample[], name: keyof Sample): number => Math.min(...part.map((one) => one[name]));
  const early = samples.slice(quarter, 2 * quarter);
  const late = samples.slice(-quarter);
  const heap = least(late, "heap") - least(early, "heap");
  const files = least(late, "files") - least(early, "files");
  return [
    ...(heap > HEAP_TOLERANCE ? [`the heap grew by ${heap} bytes`] : []),
    ...(files > FILES_TOLERANCE ? [`the number of open files grew by ${files}`] : []),
  ];
}

function describeDelay({ mean, max }: ReturnType<typeof monitorEventLoopDelay>): string {
  return `mean ${Math.round(mean / 1e6)} ms, max ${Math.round(max / 1e6)} ms`;
}

function describe({ counts, violations }: ChaosWorld): string {
  const checked = counts.get("checked sessions") ?? 0;
  const accepted = counts.get("accepted messages") ?? 0;
  const faults = [...counts].reduce((sum, [name, count]) => sum + (name.startsWith("fault:") ? count : 0), 0);
  return `${accepted} messages accepted, ${checked} sessions checked, ${faults} faults, ${violations.length} violations`;
}
