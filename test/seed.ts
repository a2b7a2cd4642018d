/** Fixes the random seed, so that `npm test` is reproducible. The long run uses new seeds. */
import fc from "fast-check";
import { SEED } from "./sampling.ts";

if (process.env["LOOM_LONG"] !== "1") fc.configureGlobal({ seed: SEED });
