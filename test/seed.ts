/** Fixes the random seed, so that `npm test` is reproducible. The long run uses new seeds. */
import fc from "fast-check";
import { LONG, SEED } from "./sampling.ts";

if (!LONG) fc.configureGlobal({ seed: SEED });
