/**
 * The process of one contestant: `node contestant.ts BENCHMARK ROW CONTESTANT`. A message with a size asks for one
 * measured round of that size; the reply has its processor time in microseconds, and the peak memory of the process.
 */
import { BENCHMARKS, listContestants, type Round, type Spent } from "./benchmark.ts";

const [name = "", row = "", contestant = ""] = process.argv.slice(2);
const rounds = new Map<number, Round>();

async function prepare(size: number): Promise<Round> {
  const load = BENCHMARKS[name];
  if (load === undefined) throw new Error(`There is no benchmark "${name}".`);
  const found = (await load()).benchmark.rows.find(({ what }) => what === row);
  const create = found === undefined ? undefined : listContestants(found)[contestant];
  if (create === undefined) throw new Error(`Benchmark "${name}" has no row "${row}" with "${contestant}".`);
  return create(size);
}

async function measure(size: number): Promise<{ readonly us: number; readonly peakMb: number }> {
  const round = rounds.get(size) ?? (await prepare(size));
  rounds.set(size, round);
  const before = process.cpuUsage();
  const result = await round();
  const { user, system } = process.cpuUsage(before);
  const own = { us: user + system, peakMb: process.resourceUsage().maxRSS / 1024 };
  if (!isSpent(result)) return own;
  return { us: result.cpuMs * 1000, peakMb: result.peakMb ?? own.peakMb };
}

const isSpent = (result: unknown): result is Spent =>
  typeof result === "object" && result !== null && "cpuMs" in result && typeof result.cpuMs === "number";

process.on("message", (size: number) => {
  measure(size).then(
    (spent) => process.send?.(spent),
    (error: unknown) => process.send?.({ error: error instanceof Error ? error.stack : String(error) }),
  );
});
// Exit when the parent process has ended, and when it needs no further round.
process.on("disconnect", () => process.exit());
