/** Starts the threads of the source from their bundles, also in the threads of Vitest, which no module hook reaches. */
import { createRequire, syncBuiltinESMExports } from "node:module";
import type { Worker } from "node:worker_threads";
import { findBundle } from "./bundle-source.ts";

// Only the object of `require` can be changed; imports follow it.
const threads = createRequire(import.meta.url)("node:worker_threads") as { Worker: typeof Worker };

const NAME = "BundledWorker";

// Files of one thread share this object, and set-up runs for each of them.
if (threads.Worker.name !== NAME) {
  const Original = threads.Worker;
  threads.Worker = {
    [NAME]: class extends Original {
      constructor(...[module, options]: ConstructorParameters<typeof Worker>) {
        super(module instanceof URL ? findBundle(module) : module, options);
      }
    },
  }[NAME]!;
  syncBuiltinESMExports();
}
