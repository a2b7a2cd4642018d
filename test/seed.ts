/** `npm test` takes the same samples every time, so that it passes or fails for a reason; the long run takes fresh ones. */
import fc from "fast-check";

if (process.env["LOOM_LONG"] !== "1") fc.configureGlobal({ seed: 20_251_115 });
