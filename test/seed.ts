/** Fixes the random seed, so that `npm test` is reproducible. The long run uses new seeds. */
import fc from "fast-check";

if (process.env["LOOM_LONG"] !== "1") fc.configureGlobal({ seed: 20_251_115 });
