/**
 * Kills child process groups when this process exits, also by a signal without another handler. Listeners are installed
 * only while there are groups.
 */

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

/** Sends a signal to a process and its descendants. Returns false if none is left. */
export function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    // Windows has no process groups.
    return process.kill(process.platform === "win32" ? pid : -pid, signal);
  } catch {
    return false;
  }
}

function killAll(): void {
  for (const pid of groups) signalGroup(pid, "SIGKILL");
}

function onSignal(signal: NodeJS.Signals): void {
  // Another handler decides what the signal does.
  if (process.listenerCount(signal) > 1) return;
  killAll();
  process.off(signal, onSignal);
  process.kill(process.pid, signal);
}
