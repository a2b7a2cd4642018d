/**
 * What a benchmark is: rows of work that ours and others do alike. Each contestant runs in its own process, and the
 * processes take turns; see `race.ts`.
 */

/**
 * Prepares `size` units of work in the process of the contestant and returns one round of it. Only the rounds are
 * measured. A round may return its processor time, if the work is in another process or only a part of it counts.
 */
export type Prepare = (size: number) => Round | Promise<Round>;
export type Round = () => unknown;

/** Replaces the processor time of the process: the work was in another process, or not all of the round is measured. */
export interface Spent {
  readonly cpuMs: number;
  /** Replaces the peak memory of the process, if the work was in another one. */
  readonly peakMb?: number;
}

export interface Row {
  /** The work, such as `text, a view per delta`. Names the row in results and floors. */
  readonly what: string;
  /** What is counted, such as `delta`. */
  readonly unit: string;
  /** Three sizes, ascending. The largest one is compared; all three show the growth. One size: growth is not measured. */
  readonly sizes: readonly number[];
  /** Left out of `--quick`. */
  readonly isSlow?: boolean;
  readonly ours: Prepare;
  /** Others by name and version. Each gets the documented setting that serves it best. */
  readonly peers?: Contestants;
  /** Plain programs with the same result and without checks, such as a loop over the same input. */
  readonly limits?: Contestants;
  /** Contestants that cannot run on this machine, and why. */
  readonly missing?: { readonly [name: string]: string };
}

export interface Contestants {
  readonly [name: string]: Prepare;
}

export interface Benchmark {
  /** What it measures, in one line. */
  readonly about: string;
  readonly rows: readonly Row[];
}

/** Name of our contestant in results. */
export const OURS = "loom";

export function listContestants({ ours, peers = {}, limits = {} }: Row): Contestants {
  return { [OURS]: ours, ...peers, ...limits };
}

/** Modules by the name of the benchmark. They are loaded on demand, because peers are. */
export const BENCHMARKS: { readonly [name: string]: () => Promise<{ readonly benchmark: Benchmark }> } = {
  receiver: () => import("./suites/receiver.ts"),
  graph: () => import("./suites/graph.ts"),
  tokens: () => import("./suites/tokens.ts"),
  append: () => import("./suites/append.ts"),
  postgres: () => import("./suites/postgres.ts"),
  start: () => import("./suites/start.ts"),
  takeover: () => import("./suites/takeover.ts"),
  fanout: () => import("./suites/fanout.ts"),
  codec: () => import("./suites/codec.ts"),
  resume: () => import("./suites/resume.ts"),
  requests: () => import("./suites/requests.ts"),
  observe: () => import("./suites/observe.ts"),
  search: () => import("./suites/search.ts"),
  knowledge: () => import("./suites/knowledge.ts"),
  page: () => import("./suites/page.ts"),
};
