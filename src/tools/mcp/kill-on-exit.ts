/**
 * Programs that must not outlive this one. While there are any, the end of the process is watched: also an end by a
 * signal that nobody else handles, which would otherwise come without a word.
 */

/** Ends of groups, by a way that cannot be refused. */
const groups = new Set<number>();

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export function watchGroup(pid: number): void {
  if (groups.size === 0) {
    process.on("exit", killAll);
    for (const signal of SIGNALS) process.on(signal, onSignal);
  }
  groups.add(pid);
}

export function forgetGroup(pid: number): void {
  if (!groups.delete(pid) || groups.size > 0) return;
  process.off("exit", killAll);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

/** Sends a signal to a program and to all it has started. False where there is nobody left. */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    // Windows has no groups.
    return process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    return false;
  }
}

function killAll(): void {
  for (const pid of groups) signalGroup(pid, "SIGKILL");
}

function onSignal(signal: NodeJS.Signals): void {
  // Somebody else decides what the signal means, and when the process ends.
  if (process.listenerCount(signal) > 1) return;
  killAll();
  process.off(signal, onSignal);
  process.kill(process.pid, signal);
}
