/**
 * How fast the calls of one host may write: so much at once, then the log is asked whether it has room. Without it a
 * few tools that print a lot would fill the run's backlog and end the run.
 */
import type { ToolHost } from "./tool-host.ts";
import { untilAborted } from "./until-aborted.ts";

/** Bytes, roughly, that are written before the log is asked again. */
const BYTES_AT_ONCE = 64 * 1024;

export class Pace {
  readonly #host: ToolHost;
  #spent = 0;
  #asking: Promise<void> | undefined;

  constructor(host: ToolHost) {
    this.#host = host;
  }

  /** True when so many bytes may be written now; then they count as written. One event is never too large. */
  take(bytes: number): boolean {
    if (this.#asking !== undefined || (this.#spent > 0 && this.#spent + bytes > BYTES_AT_ONCE)) return false;
    this.#spent += bytes;
    return true;
  }

  /** Resolves when the log has room again. All who wait share one question, and take what fits when it is answered. */
  wait(): Promise<void> {
    this.#asking ??= this.#ask();
    return this.#asking;
  }

  async #ask(): Promise<void> {
    try {
      await this.#host.ready();
    } finally {
      this.#spent = 0;
      this.#asking = undefined;
    }
  }
}

const paces = new WeakMap<ToolHost, Pace>();

export function paceOf(host: ToolHost): Pace {
  let pace = paces.get(host);
  if (pace === undefined) {
    pace = new Pace(host);
    paces.set(host, pace);
  }
  return pace;
}

/** Resolves when so many bytes may be written, which then count as written. */
export async function makeRoom(host: ToolHost, bytes: number): Promise<void> {
  const pace = paceOf(host);
  while (!pace.take(bytes)) await untilAborted(pace.wait(), host.signal);
}
