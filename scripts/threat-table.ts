/**
 * Prints, at the end of a test run that tried threats, how often each was tried and how often it came through, and which
 * were not tried because their tests were skipped. A run of all files that do fails where a threat of the list has no test.
 */
import { globSync } from "node:fs";
import { join } from "node:path";
import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";
import { type Threat, THREATS } from "../test/security/threats.ts";

export interface ThreatCount {
  readonly tried: number;
  readonly through: number;
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
      const isWhole = !isNamed && hasAll(modules);
      const missing = isWhole ? findUntried(counts) : [];
      console.log(`\n${formatThreats(counts)}\n`);
      if (missing.length === 0) return;
      console.error(`No test tries these threats: ${missing.join(", ")}\n`);
      process.exitCode = 1;
    },
  };
}

function* listTests(modules: readonly TestModule[]): Generator<TestCase> {
  for (const module of modules) yield* module.children.allTests();
}

/** What is asked of a test. */
interface Told {
  meta(): { readonly threat?: string; readonly tried?: number; readonly through?: number };
  result(): { readonly state: ReturnType<TestCase["result"]>["state"] };
}

/** A threat whose tests were all skipped was tried 0 times; those that were left out by name are none of the run's. */
export function countThreats(
  tests: Iterable<Told>,
  { withSkipped = true }: { readonly withSkipped?: boolean } = {},
): ThreatCounts {
  const counts = new Map<string, ThreatCount>();
  for (const test of tests) {
    const { threat, tried = 1, through = 0 } = test.meta();
    const { state } = test.result();
    if (threat === undefined) continue;
    const earlier = counts.get(threat) ?? { tried: 0, through: 0 };
    // What cannot be tried on this machine, where there is no browser say, has a test all the same.
    if (state === "skipped" || state === "pending") {
      if (withSkipped) counts.set(threat, earlier);
      continue;
    }
    const failed = state === "failed" ? Math.max(through, 1) : through;
    counts.set(threat, { tried: earlier.tried + tried, through: earlier.through + failed });
  }
  return counts;
}

/** Every file that tries threats was part of the run. */
function hasAll(modules: readonly TestModule[]): boolean {
  const ran = new Set(modules.map(({ moduleId }) => moduleId));
  return globSync("test/{security/**/*,page/xss*}.test.ts", { cwd: root }).every((path) => ran.has(join(root, path)));
}

function findUntried(counts: ThreatCounts): readonly string[] {
  return Object.entries(THREATS).flatMap(([threat, title]) => (counts.has(threat) ? [] : [title]));
}

/** In the order of the list, aligned, with a sum that says what it leaves out. */
export function formatThreats(counts: ThreatCounts): string {
  const found = (Object.keys(THREATS) as Threat[]).flatMap((threat) => {
    const count = counts.get(threat);
    return count === undefined ? [] : [{ title: THREATS[threat], ...count }];
  });
  const sum = (field: keyof ThreatCount): number => found.reduce((all, count) => all + count[field], 0);
  const untried = found.filter(({ tried }) => tried === 0).length;
  const rest = untried === 0 ? "" : `, but ${untried} ${untried === 1 ? "threat" : "threats"} not tried`;
  const table = [
    ["threat", "cases tried", "cases through"],
    ...found.map(({ title, tried, through }) =>
      tried === 0 ? [title, "not tried", "–"] : [title, String(tried), String(through)],
    ),
    [`all${rest}`, String(sum("tried")), String(sum("through"))],
  ];
  const widths = [0, 1, 2].map((at) => Math.max(...table.map((row) => row[at]?.length ?? 0)));
  const lines = table.map((row) =>
    row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join("  "),
  );
  const rule = "-".repeat(lines[0]?.length ?? 0);
  return [lines[0], rule, ...lines.slice(1, -1), rule, lines.at(-1)].join("\n");
}
