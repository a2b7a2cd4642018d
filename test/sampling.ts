/** Whether this is `npm run test:long`, which tests everything. `npm test` tests few, seeded samples. */
export const LONG = process.env["LOOM_LONG"] === "1";

/** Selects the random input and the sampled cases of `npm test`. The variable TEST_SEED sets another one. */
export const SEED = Number(process.env["TEST_SEED"] ?? 20_251_115);

export interface SampleOptions<T> {
  /** Number of cases of each kind (default: 1). */
  readonly perKind?: number;
  /** Default: all cases are of one kind. */
  readonly kindOf?: (value: T, index: number) => string;
}

/** Returns all cases in the long run; otherwise some of each kind, selected by the seed, in their order. */
export function sampleCases<T>(cases: Iterable<T>, options: SampleOptions<T> = {}): readonly T[] {
  return LONG ? [...cases] : selectCases(cases, SEED, options);
}

export function selectCases<T>(
  cases: Iterable<T>,
  seed: number,
  { perKind = 1, kindOf = () => "" }: SampleOptions<T> = {},
): readonly T[] {
  const kinds = Map.groupBy([...cases].entries(), ([index, value]) => kindOf(value, index));
  const selected = [...kinds.values()].flatMap((entries) =>
    entries.toSorted(([a], [b]) => rank(seed, a) - rank(seed, b)).slice(0, perKind),
  );
  return selected.toSorted(([a], [b]) => a - b).map(([, value]) => value);
}

/** A number that depends on all bits of both (the mixing step of MurmurHash3). */
function rank(seed: number, index: number): number {
  let mixed = Math.imul(seed ^ Math.imul(index + 1, 0x9e37_79b1), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

export const SAMPLES = LONG
  ? { sessions: 1500, pairs: 600, byteStreams: 2000, openThings: 250_000 }
  : { sessions: 10, pairs: 4, byteStreams: 60, openThings: 8_000 };

/** Streams in which nothing ends: their frames, and the heap they must fit in. Fewer frames need a smaller heap. */
export const BOUNDED_SAMPLES = LONG ? { frames: 50_000, heapMb: 96 } : { frames: 1000, heapMb: 38 };

/** Hostile texts between the frames of a stream: only every `stride`-th before each frame. */
export const HOSTILE_SAMPLES = { stride: LONG ? 1 : 16 };

/** Network faults: test every `step`-th position, `random` random faults, and `singles` bytes sent one at a time. */
export const FAULT_SAMPLES = LONG ? { step: 1, random: 40, singles: 3000 } : { step: 80, random: 1, singles: 150 };

/** Clients of other protocols: cut the connection after every `step`-th frame. */
export const CUT_SAMPLES = { step: LONG ? 1 : 15 };

/** Killed servers: number of kills, sessions, messages whose response is lost, and chats of the AI SDK. */
export const KILL_SAMPLES = LONG
  ? { kills: 60, sessions: 24, lost: 150, chats: 24 }
  : { kills: 1, sessions: 2, lost: 3, chats: 1 };

/** Stopped servers: how often a run is handed over, which is more often than it may be tried. */
export const HAND_OVER_SAMPLES = LONG ? { restarts: 5, maxAttempts: 3 } : { restarts: 1, maxAttempts: 1 };
/**
 * Several servers with one database: seconds of random faults, or 0 for each fault once, conversations, messages of each
 * one, and the duration of leases.
 */
export const CLUSTER_SAMPLES = LONG
  ? { seconds: 240, sessions: 24, messages: 8, ttlMs: 2000 }
  : { seconds: 0, sessions: 2, messages: 12, ttlMs: 1000 };

/**
 * Processes with ten writers that fight for one session, how many are killed, and the number of appends. Two cores store
 * about 30 of them per second, because most of the time is spent on taking the session.
 */
export const RIVAL_SAMPLES = LONG
  ? { processes: 10, kills: 100, appends: 2000 }
  : { processes: 2, kills: 1, appends: 120 };

/** Number of readers, and of runs they follow. */
export const CROWD_SAMPLES = LONG ? { readers: 1000, runs: 50 } : { readers: 60, runs: 6 };

/** Approximate bytes that a run writes to readers that do not read. */
export const STALL_SAMPLES = LONG ? { bytes: 96 * 1024 * 1024 } : { bytes: 14 * 1024 * 1024 };

/** Endpoints: every n-th dialect per session, in turn, framings per dialect, ways to resume, and disconnects. */
export const ENDPOINT_SAMPLES = LONG
  ? { dialectStep: 1, framings: 2, ways: 2, cuts: 1000 }
  : { dialectStep: 5, framings: 1, ways: 1, cuts: 1 };

/** Ingested runs: every n-th run in dialects other than its own, in turn, and cuts after every n-th frame. */
export const INGEST_SAMPLES = LONG ? { runStep: 1, cutStep: 1 } : { runStep: 5, cutStep: 5 };

/** The page: whether tests wait in real time, and how many hostile texts of each kind they use. */
export const PAGE_SAMPLES = LONG
  ? { isPatient: true, hostileOfKind: Infinity }
  : { isPatient: false, hostileOfKind: 1 };

/** Abuse: repetitions, bytes of a flood, and whether every variant is tested. */
export const ABUSE_SAMPLES = LONG
  ? { rounds: 300, floodBytes: 256 * 1024 * 1024, isWhole: true }
  : { rounds: 2, floodBytes: 12 * 1024 * 1024, isWhole: false };

/** Child processes: programs of the guides, and kills of one follower. */
export const PROGRAM_SAMPLES = LONG ? { guides: Infinity, kills: 6 } : { guides: 3, kills: 1 };

/** States: how many long ones a run has, and whether one larger than a frame is tested with every transport. */
export const STATE_SAMPLES = LONG ? { isWhole: true, count: 500 } : { isWhole: false, count: 200 };

/** Sources of other frameworks: random ones, and the bytes of one that is faster than the log. */
export const SOURCE_SAMPLES = LONG ? { runs: 5000, bytes: 100_000_000 } : { runs: 30, bytes: 12_000_000 };

/** Forks of a large session: their number, the size of the session, and the memory they may use together. */
export const FORK_SAMPLES = LONG
  ? { forks: 30, sessionBytes: 50_000_000, maxMemoryBytes: 800_000_000, timeoutMs: 900_000 }
  : { forks: 5, sessionBytes: 3_000_000, maxMemoryBytes: 400_000_000, timeoutMs: 120_000 };

/** Worst input: bytes of a document and of a fetched page. The larger ones are just below the limits. */
export const WORST_SAMPLES = LONG
  ? { documentBytes: 9_000_000, pageBytes: 1024 * 1024 }
  : { documentBytes: 1_000_000, pageBytes: 256 * 1024 };

/** Knowledge bases in a database: bases and imported files of the contract, and compared bases, documents and queries. */
export const KNOWLEDGE_SAMPLES = LONG
  ? { bases: 60, files: 400, compared: 60, documents: 60, queries: 60 }
  : { bases: 1, files: 160, compared: 2, documents: 12, queries: 15 };

/** Receivers in other languages: at how many random positions a response is cut; in the long run at all of them. */
export const LANGUAGE_SAMPLES = { cuts: LONG ? Infinity : 6 };
