/**
 * How many samples the property tests take: few and seeded by default, so that `npm test` is quick and repeats; many in
 * `npm run test:long`.
 */
const LONG = process.env["LOOM_LONG"] === "1";

export const SAMPLES = LONG
  ? { sessions: 5000, pairs: 2000, openThings: 250_000 }
  : { sessions: 150, pairs: 40, openThings: 25_000 };
