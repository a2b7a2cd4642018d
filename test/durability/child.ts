/** Starts the programs of these tests as child processes and collects their output. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { nodeArgs } from "../bundle-source.ts";

export interface Child {
  readonly process: ChildProcess;
  /** Lines printed so far. */
  readonly lines: string[];
  /** Resolves with the next line that starts with `start`, or undefined if the process ends first. */
  next(start: string): Promise<string | undefined>;
  /**
   * Resolves when the process has ended and its output is complete. Rejects with its stderr if it failed, except when
   * it was killed.
   */
  readonly ended: Promise<void>;
}

export function startChild(program: string, args: readonly string[], before: readonly string[] = []): Child {
  const words = [...before, process.execPath, ...nodeArgs()];
  const child = spawn(words[0] ?? process.execPath, [...words.slice(1), join(import.meta.dirname, program), ...args], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const lines: string[] = [];
  let waiting: (() => void)[] = [];
  let unfinished = "";
  let stderr = "";
  let over = false;
  const wake = (): void => {
    const awake = waiting;
    waiting = [];
    for (const resolve of awake) resolve();
  };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const parts = (unfinished + chunk).split("\n");
    unfinished = parts.pop() ?? "";
    for (const part of parts) lines.push(part);
    wake();
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  const ended = new Promise<void>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      over = true;
      wake();
      if (code === 0 || signal === "SIGKILL") resolve();
      else reject(new Error(`${program} ended with ${code ?? signal}: ${stderr}`));
    });
  });
  ended.catch(() => undefined);
  return {
    process: child,
    lines,
    ended,
    async next(start) {
      for (let from = 0; ;) {
        for (; from < lines.length; from++) if (lines[from]?.startsWith(start)) return lines[from];
        if (over) return undefined;
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
  };
}

/** The highest ID printed for each session, in lines such as `ack s 12`. */
export function findHighestIds(lines: readonly string[], word: string): Map<string, number> {
  const ids = new Map<string, number>();
  for (const line of lines) {
    const [first, session, id] = line.split(" ");
    if (first === word && session !== undefined) ids.set(session, Math.max(ids.get(session) ?? 0, Number(id)));
  }
  return ids;
}
