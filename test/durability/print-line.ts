import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";

let hasPrinted = false;

/** Prints a line synchronously, so that it is out before the caller continues. Retries while a pipe is full. */
export function printLine(text: string): void {
  // A killed process does not write its compile cache, so write it at the first line.
  if (!hasPrinted) flushCompileCache();
  hasPrinted = true;
  for (;;) {
    try {
      writeSync(1, `${text}\n`);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
  }
}
