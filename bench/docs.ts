/** Writes docs/benchmarks.md, its plots, and the results that both come from. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BENCHMARKS } from "./benchmark.ts";
import { drawPlot } from "./plot.ts";
import { describeRow, formatRatio, formatTime, type Report, type ReportedRow } from "./report.ts";

const DOCS = join(import.meta.dirname, "..", "docs");
const FOLDER = join(DOCS, "benchmarks");
const RESULTS = join(FOLDER, "results.json");

const INTRODUCTION = `# Benchmarks

\`npm run bench\` compares Loom with other packages. Each section says where their work differs. Each contestant runs in its
own process, and the processes take turns. The figures are CPU times; "× Loom" is a multiple of ours, so a value below 1
means that the other one needs less. A limit is a plain program with the same result and without checks, such as a loop
over the same input. Growth is the exponent of the cost with the size of the input: 1 is linear. Peak memory is that of
the process. Most of them have loaded Loom, also those of the others; for \`page\`, it is the heap of the page.

In the plots, gold bars are packages that need less than Loom, and light grey bars are limits. Exact versions of the
packages are in \`package.json\` and \`bench/package.json\`.

Machines differ, so compare ratios, not times. \`npm run bench -- --docs\` measures again and writes this page.`;

/** Replaces the results of the benchmarks that ran; those of the others stay. */
export function writeDocs(report: Report): void {
  const reports = existsSync(RESULTS)
    ? (JSON.parse(readFileSync(RESULTS, "utf8")) as { readonly [name: string]: Report })
    : {};
  const ran = Object.fromEntries(
    [...Map.groupBy(report.rows, ({ benchmark }) => benchmark)].map(([name, rows]) => [name, { ...report, rows }]),
  );
  const all = Object.entries({ ...reports, ...ran }).filter(([name]) => Object.hasOwn(BENCHMARKS, name));
  const names = Object.keys(BENCHMARKS);
  const sorted = all.toSorted(([a], [b]) => names.indexOf(a) - names.indexOf(b));
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(RESULTS, `${JSON.stringify(Object.fromEntries(sorted), undefined, 1)}\n`);
  const sections = sorted.map(([name, { rows, machine, date, rounds }]) => {
    writeFileSync(join(FOLDER, `${name}.svg`), drawPlot(rows));
    const { cpu, cores, memoryGb, node } = machine;
    return [
      `## ${name}`,
      describeSuite(name),
      `Measured on ${date}, ${rounds} rounds, with Node ${node.slice(1)} on ${cores} cores (${cpu}) and ${memoryGb} GB.`,
      `![CPU time of each contestant as a multiple of that of Loom](benchmarks/${name}.svg)`,
      formatTable(rows),
    ].join("\n\n");
  });
  const page = ["<!-- generated:benchmarks -->", INTRODUCTION, ...sections, "<!-- /generated -->"];
  writeFileSync(join(DOCS, "benchmarks.md"), `${page.join("\n\n")}\n`);
}

/** The comment at the start of the suite. */
function describeSuite(name: string): string {
  const [, comment = ""] =
    /^\/\*\*(.*?)\*\//su.exec(readFileSync(join(import.meta.dirname, "suites", `${name}.ts`), "utf8")) ?? [];
  return comment.replaceAll(/^ \*? ?/gmu, "").trim();
}

function formatTable(rows: readonly ReportedRow[]): string {
  const cells = rows.flatMap((row) =>
    row.contestants.map(({ name, isLimit, cost, ratio, exponent, peakMb }, index) =>
      [
        index === 0 ? describeRow(row) : "",
        isLimit ? `${name} (limit)` : name,
        formatTime(cost.median),
        ratio === undefined ? "" : formatRatio(ratio),
        exponent === undefined ? "" : exponent.toFixed(2),
        String(peakMb),
      ].join(" | "),
    ),
  );
  const head = ["Work", "", "CPU time", "× Loom (quartiles)", "Growth", "Peak MB"];
  return [head.join(" | "), head.map(() => "---").join(" | "), ...cells].map((line) => `| ${line} |`).join("\n");
}
