/**
 * Prints, at the end of a test run that tried threats, how often each was tried and how often it came through. A run of
 * all files that do fails where a threat of the list was not tried at all.
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
      const counts = countThreats(listTests(modules));
      if (counts.size === 0) return;
      const isWhole = vitest?.config.testNamePattern === undefined && hasAll(modules);
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

function countThreats(tests: Iterable<TestCase>): ThreatCounts {
  const counts = new Map<string, ThreatCount>();
  for (const test of tests) {
    const { threat, tried = 1, through = 0 } = test.meta();
    const { state } = test.result();
    if (threat === undefined) continue;
    const earlier = counts.get(threat) ?? { tried: 0, through: 0 };
    // What cannot be tried on this machine, where there is no browser say, has a test all the same.
    if (state === "skipped" || state === "pending") {
      counts.set(threat, earlier);
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

/** In the order of the list, aligned, with a sum. */
function formatThreats(counts: ThreatCounts): string {
  const rows = (Object.keys(THREATS) as Threat[]).flatMap((threat) => {
    const { tried = 0, through = 0 } = counts.get(threat) ?? {};
    return tried === 0 ? [] : [[THREATS[threat], tried, through] as const];
  });
  const sum = (at: 1 | 2): number => rows.reduce((all, row) => all + row[at], 0);
  const table = [["threat", "cases tried", "cases through"], ...rows, ["all", sum(1), sum(2)]].map((row) =>
    row.map(String),
  );
  const widths = [0, 1, 2].map((at) => Math.max(...table.map((row) => row[at]?.length ?? 0)));
  const lines = table.map((row) =>
    row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join("  "),
  );
  const rule = "-".repeat(lines[0]?.length ?? 0);
  return [lines[0], rule, ...lines.slice(1, -1), rule, lines.at(-1)].join("\n");
}
