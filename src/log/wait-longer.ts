/** Runs the work of a run, in which a store that is away fails reads no earlier than appends. */
import type { Log } from "./log.ts";

export function waitLonger<T>(log: Pick<Log, "waitLonger">, work: () => Promise<T>): Promise<T> {
  return log.waitLonger === undefined ? work() : log.waitLonger(work);
}
