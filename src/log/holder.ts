/**
 * Names the holder of a lease so that another process on the same machine can check whether it is still alive. A killed
 * writer is then replaced at once instead of when its lease expires. If the check is not possible, the lease decides.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

let machine: string | undefined;
let ownStart: string | undefined;
let count = 0;

/** Returns a new holder name for a writer in this process: the name of the process and a counter. */
export function describeHolder(): string {
  return `${describeProcess()}/${++count}`;
}

/** The name of this process: machine, process ID and start time. */
export function describeProcess(): string {
  return `${describeMachine()}/${process.pid}/${readOwnStart()}`;
}

/** The name of the process of a holder. */
export function processOf(holder: string): string {
  return holder.replace(/\/\d+$/, "");
}

/** True if the holder was a process on this machine that has ended; false if it may be alive. */
export function isHolderGone(holder: string): boolean {
  const [where, pid, start] = holder.split("/");
  if (where !== describeMachine() || pid === undefined || !/^[1-9]\d*$/.test(pid)) return false;
  // Most checks are about this process; they need no system call.
  if (pid === String(process.pid) && start === readOwnStart()) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
  // A process with this ID exists; it is another one if its start time differs.
  const now = readStart(Number(pid));
  return now !== undefined && start !== "" && start !== now;
}

/** The latest lease of a session. Without a holder, `expiresAt` is the end of its grace period. */
interface StoredLease {
  readonly holder: string | null;
  readonly expiresAt: number;
}

/** Returns the live writer of a session. */
export function holderOf({ holder, expiresAt }: StoredLease, now: number): string | undefined {
  return holder === null || expiresAt <= now || isHolderGone(holder) ? undefined : holder;
}

/** Whether the session has no live writer and is not in its grace period. */
export function isUnheld({ holder, expiresAt }: StoredLease, now: number): boolean {
  return expiresAt <= now || (holder !== null && isHolderGone(holder));
}

/** Identifies processes that see each other's process ids: same boot and same PID namespace. */
function describeMachine(): string {
  machine ??= (() => {
    try {
      const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
      return `${boot}.${/\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? ""}`;
    } catch {
      return hostname().replaceAll("/", "-");
    }
  })();
  return machine;
}

function readOwnStart(): string {
  ownStart ??= readStart(process.pid) ?? "";
  return ownStart;
}

/** Start time of a process in clock ticks since boot; undefined if unknown, "ended" for a zombie. */
function readStart(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The program name, in parentheses, may contain any character.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? "ended" : fields[19];
  } catch {
    return undefined;
  }
}
