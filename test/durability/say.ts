import { writeSync } from "node:fs";

/** Said before anything else happens; a pipe that is full makes it wait. */
export function say(text: string): void {
  for (;;) {
    try {
      writeSync(1, `${text}\n`);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
  }
}
