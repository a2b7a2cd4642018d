/**
 * A Vitest reporter that prints the threat table at the end of a run: attacks tried and attacks that succeeded, per
 * threat, and threats whose tests were skipped. "3 of 9" means that the long run tries 9. A run of all security tests fails if a threat has no test.
 */
import { globSync } from "node:fs";
import { join } from "node:path";
import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";
import { type Threat, THREATS } from "../test/security/threats.ts";

export interface ThreatCount {
  readonly tried: number;
  readonly succeeded: number;
  /** Attacks that only the long run tries. */
  readonly omitted: number;
}

export type ThreatCounts = ReadonlyMap<string, ThreatCount>;

const root = join(import.meta.dirname, "..");

export function createThreatTable(): Reporter {
  let vitest: Vitest | undefined;
  return {
    onInit: (given) => {
      vitest = given;
    },
    onTestRunEnd: (modules) => {
      const isNamed = vitest?.config.testNamePattern !== undefined;
      const counts = countThreats(listTests(modules), { withSkipped: !isNamed });
      if (counts.size === 0) return;
      const isWhole = !isNamed && includesAllThreatTests(modules);
      const missing = isWhole ? findUntestedThreats(counts) : [];
      console.log(`\n${formatThreats(counts)}\n`);
      if (missing.length === 0) return;
      console.error(`These threats have no test: ${missing.join(", ")}\n`);
      process.exitCode = 1;
    },
  };
}

function* listTests(modules: readonly TestModule[]): Generator<TestCase> {
  for (const module of modules) yield* module.children.allTests();
}

/** The parts of a test case that the table needs. */
interface ReportedTest {
  meta(): { readonly threat?: string; readonly tried?: number; readonly succeeded?: number; readonly omitted?: number };
  result(): { readonly state: ReturnType<TestCase["result"]>["state"] };
}

/**
 * Counts attacks per threat. A threat whose tests were all skipped counts with 0 attacks, unless `withSkipped` is
 * false, which is for runs that select tests by name.
 */
export function countThreats(
  tests: Iterable<ReportedTest>,
  { withSkipped = true }: { readonly withSkipped?: boolean } = {},
): ThreatCounts {
  const counts = new Map<string, ThreatCount>();
  for (const test of tests) {
    const { threat, tried = 1, succeeded = 0, omitted = 0 } = test.meta();
    const { state } = test.result();
    if (threat === undefined) continue;
    const earlier = counts.get(threat) ?? { tried: 0, succeeded: 0, omitted: 0 };
    // A skipped test, for example without a browser, still shows that the threat has a test.
    if (state === "skipped" || state === "pending") {
      if (withSkipped) counts.set(threat, earlier);
      continue;
    }
    const failed = state === "failed" ? Math.max(succeeded, 1) : succeeded;
    counts.set(threat, {
      tried: earlier.tried + tried,
      succeeded: earlier.succeeded + failed,
      omitted: earlier.omitted + omitted,
    });
  }
  return counts;
}

/** Returns whether the run included every file with threat tests. */
function includesAllThreatTests(modules: readonly TestModule[]): boolean {
  const ran = new Set(modules.map(({ moduleId }) => moduleId));
  return globSync("test/{security/**/*,page/xss*}.test.ts", { cwd: root }).every((path) => ran.has(join(root, path)));
}

function findUntestedThreats(counts: ThreatCounts): readonly string[] {
  return Object.entries(THREATS).flatMap(([threat, title]) => (counts.has(threat) ? [] : [title]));
}

/** Formats the table in the order of `THREATS`, with a total row. */
export function formatThreats(counts: ThreatCounts): string {
  const found = (Object.keys(THREATS) as Threat[]).flatMap((threat) => {
    const count = counts.get(threat);
    return count === undefined ? [] : [{ title: THREATS[threat], ...count }];
  });
  const sum = (field: keyof ThreatCount): number => found.reduce((all, count) => all + count[field], 0);
  const untried = found.filter(({ tried }) => tried === 0).length;
  const rest = untried === 0 ? "" : `, ${untried} ${untried === 1 ? "threat" : "threats"} not tested`;
  const formatTried = (tried: number, omitted: number): string =>
    omitted === 0 ? String(tried) : `${tried} of ${tried + omitted}`;
  const table = [
    ["threat", "attacks tried", "succeeded"],
    ...found.map(({ title, tried, succeeded, omitted }) =>
      tried === 0 ? [title, "not tested", "–"] : [title, formatTried(tried, omitted), String(succeeded)],
    ),
    [`total${rest}`, formatTried(sum("tried"), sum("omitted")), String(sum("succeeded"))],
  ];
  const widths = [0, 1, 2].map((at) => Math.max(...table.map((row) => row[at]?.length ?? 0)));
  const lines = table.map((row) =>
    row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join("  "),
  );
  const rule = "-".repeat(lines[0]?.length ?? 0);
  return [lines[0], rule, ...lines.slice(1, -1), rule, lines.at(-1)].join("\n");
}
