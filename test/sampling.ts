/**
 * How many samples the property tests take: few and seeded by default, so that `npm test` is quick and repeats; many in
 * `npm run test:long`.
 */
const LONG = process.env["LOOM_LONG"] === "1";

export const SAMPLES = LONG
  ? { sessions: 5000, pairs: 2000, openThings: 250_000 }
  : { sessions: 40, pairs: 15, openThings: 8_000 };

/** Of a network's faults: every so manieth place where it breaks, how many of chance, and how many bytes come singly. */
export const FAULT_SAMPLES = LONG ? { step: 1, random: 40, singles: 3000 } : { step: 40, random: 1, singles: 300 };

/** Of servers that are killed: how often, with how many conversations, and how many messages lose their answer. */
export const KILL_SAMPLES = LONG ? { kills: 60, sessions: 24, lost: 150 } : { kills: 2, sessions: 5, lost: 6 };

/** Readers and the runs they follow. */
export const CROWD_SAMPLES = LONG ? { readers: 1000, runs: 50 } : { readers: 100, runs: 10 };

/** Bytes of text, about, that a run writes to readers who do not read. */
export const STALL_SAMPLES = LONG ? { bytes: 96 * 1024 * 1024 } : { bytes: 16 * 1024 * 1024 };

/** Of the doors: in how many framings each run is told in each dialect, in how many ways resumed, how often cut. */
export const DOOR_SAMPLES = LONG ? { framings: 2, ways: 2, cuts: 1000 } : { framings: 1, ways: 1, cuts: 2 };

/** Of a page: whether time really passes or is only made to, and how many hostile texts of each kind fill its fields. */
export const PAGE_SAMPLES = LONG
  ? { isPatient: true, hostileOfKind: Infinity }
  : { isPatient: false, hostileOfKind: 1 };

/** Of abuse: how often each kind is repeated, how many bytes are sent by one who floods, and whether in every way. */
export const ABUSE_SAMPLES = LONG
  ? { rounds: 300, floodBytes: 256 * 1024 * 1024, isWhole: true }
  : { rounds: 2, floodBytes: 12 * 1024 * 1024, isWhole: false };

/**
 * Of what is started as a program of its own: every so manieth command line, every so manieth program of a guide, and in
 * how many dialects a follower is killed.
 */
export const PROGRAM_SAMPLES = LONG
  ? { refusedStep: 1, guideStep: 1, killedDialects: 3 }
  : { refusedStep: 16, guideStep: 5, killedDialects: 1 };

/** Of states that are longer than a frame: whether by every transport. */
export const STATE_SAMPLES = { isWhole: LONG };
