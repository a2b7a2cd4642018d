/**
 * The command of the benchmarks.
 *
 *   npm run bench -- --list               the benchmarks
 *   npm run bench -- NAME [NAME …]        some of them; without a name, all
 *     --quick                             fewer rounds, without slow rows: all take less than 20 minutes on 2 cores
 *     --check                             exit code 1 if a ratio is below its floor in `floors.json`, twice
 *     --set-floors                        sets the floors in `floors.json` to these results less their spread
 *     --json FILE                         also writes the results as JSON
 *     --docs                              writes these results to docs/benchmarks.md, with plots
 *     --against COMMIT                    ours here against ours at another commit, in at least 10 rounds
 *
 * Processor times are compared, never judged alone: machines differ.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { compareWithCommit } from "./against.ts";
import { BENCHMARKS, type Row } from "./benchmark.ts";
import { findMisses, findMissing, findUnsaid, type Miss, setFloors } from "./floors.ts";
import { installPeers } from "./install-peers.ts";
import { type RaceOptions, runRow } from "./race.ts";
import { writeDocs } from "./docs.ts";
import { createReport, formatRow, type Report, type RowResult } from "./report.ts";

const FULL = { rounds: 11, warmUpMs: 1500 };
const QUICK = { rounds: 5, warmUpMs: 500 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    docs: { type: "boolean", default: false },
    "set-floors": { type: "boolean", default: false },
    json: { type: "string" },
    against: { type: "string" },
  },
});

const print = (text: string): void => void process.stdout.write(`${text}\n`);

const names = positionals.length > 0 ? positionals : Object.keys(BENCHMARKS);
const unknown = names.find((name) => !Object.hasOwn(BENCHMARKS, name));
if (unknown === undefined) await run();
else {
  const known = Object.keys(BENCHMARKS).join(", ");
  process.stderr.write(`There is no benchmark "${unknown}". Use one of: ${known}\n`);
  process.exitCode = 2;
}

async function run(): Promise<void> {
  installPeers();
  if (values.list) for (const name of names) print(`${name.padEnd(12)} ${(await load(name)).about}`);
  else if (values.against !== undefined)
    process.exitCode = (await compareWithCommit(values.against, names, values.quick)) ? 0 : 1;
  else await runAll();
}

async function load(name: string) {
  const { benchmark } = (await BENCHMARKS[name]?.()) ?? {};
  if (benchmark === undefined) throw new Error(`There is no benchmark "${name}".`);
  return benchmark;
}

async function runAll(): Promise<void> {
  const options = values.quick ? QUICK : FULL;
  const results: RowResult[] = [];
  for (const name of names) {
    const { about, rows } = await load(name);
    print(`\n${name}: ${about}`);
    const start = performance.now();
    for (const row of rows.filter(({ isSlow = false }) => !isSlow || !values.quick)) {
      const result = await measure(name, row, options);
      if (result !== undefined) results.push(result);
    }
    print(`  ${Math.round((performance.now() - start) / 1000)} s`);
  }
  const report = createReport(results, options.rounds);
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, undefined, 2)}\n`);
  if (values["set-floors"]) setFloors(report);
  if (values.docs) writeDocs(report);
  if (values.check) await check(report, results, options);
}

async function measure(benchmark: string, row: Row, options: RaceOptions): Promise<RowResult | undefined> {
  try {
    const result = { benchmark, row, results: await runRow(benchmark, row, options) };
    print(formatRow(result));
    return result;
  } catch (error) {
    // The other rows are still useful.
    process.stderr.write(
      `FAILED  ${benchmark}, ${row.what}: ${error instanceof Error ? error.message : String(error)}\n`,
    );
    process.exitCode = 1;
    return undefined;
  }
}

/** Rows with a miss are measured once more, in new processes. A miss counts if it is there again. */
async function check(report: Report, results: readonly RowResult[], options: RaceOptions): Promise<void> {
  const isSame = (a: Miss, b: Miss): boolean =>
    a.benchmark === b.benchmark && a.what === b.what && a.against === b.against;
  const first = findMisses(report);
  const again: RowResult[] = [];
  if (first.length > 0) print(`\n${first.length} misses. Their rows once more:`);
  for (const { benchmark, row } of results) {
    if (!first.some((miss) => miss.benchmark === benchmark && miss.what === row.what)) continue;
    const result = await measure(benchmark, row, options);
    if (result !== undefined) again.push(result);
  }
  const second = findMisses(createReport(again, options.rounds));
  const misses = first.filter(
    (miss) =>
      !again.some(({ benchmark, row }) => miss.benchmark === benchmark && miss.what === row.what) ||
      second.some((other) => isSame(miss, other)),
  );
  const faults = [
    ...misses.map(({ benchmark, what, against, fault }) => `${benchmark}, ${what}, ${against}: ${fault}`),
    ...findUnsaid(),
  ];
  for (const line of findMissing(report)) process.stderr.write(`NOT MEASURED  ${line}\n`);
  for (const fault of faults) process.stderr.write(`MISS  ${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}
