import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";

let hasSpoken = false;

/** Said before anything else happens; a pipe that is full makes it wait. */
export function say(text: string): void {
  // Programs that are killed would leave nothing compiled for the next.
  if (!hasSpoken) flushCompileCache();
  hasSpoken = true;
  for (;;) {
    try {
      writeSync(1, `${text}\n`);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
  }
}
