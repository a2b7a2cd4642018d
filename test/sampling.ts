/**
 * How many samples the property tests take: few and seeded by default, so that `npm test` is quick and repeats; many in
 * `npm run test:long`.
 */
const LONG = process.env["LOOM_LONG"] === "1";

export const SAMPLES = LONG
  ? { sessions: 5000, pairs: 2000, openThings: 250_000 }
  : { sessions: 150, pairs: 40, openThings: 25_000 };

/** Of a network's faults: every so manieth place where it breaks, how many of chance, and how many bytes come singly. */
export const FAULT_SAMPLES = LONG ? { step: 1, random: 40, singles: 3000 } : { step: 15, random: 2, singles: 500 };
