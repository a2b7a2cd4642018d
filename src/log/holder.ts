/**
 * Who holds a lease, said so that another process of the same machine can tell whether that one is still alive: a
 * killed writer is then replaced at once, not when its lease runs out. Where it cannot be told, the lease decides.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

let machine: string | undefined;
let ownStart: string | undefined;
let count = 0;

/** A name for one writer of this process: machine, process, when the process began, and a number. */
export function describeHolder(): string {
  return `${describeMachine()}/${process.pid}/${readOwnStart()}/${++count}`;
}

/** True when the holder was a process of this machine and has ended; false when it may be alive. */
export function isHolderGone(holder: string): boolean {
  const [where, pid, start] = holder.split("/");
  if (where !== describeMachine() || pid === undefined || !/^[1-9]\d*$/.test(pid)) return false;
  // Most that are asked about are this process: it need not be looked for.
  if (pid === String(process.pid) && start === readOwnStart()) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
  // Somebody has that number: another process, if it began at another time.
  const now = readStart(Number(pid));
  return now !== undefined && start !== "" && start !== now;
}

/** Processes that can see each other's numbers: the same boot, and the same namespace of processes. */
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

/** When a process began, in ticks since the machine did; undefined where nobody says. A zombie has ended. */
function readStart(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program, in brackets, may hold anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? "ended" : fields[19];
  } catch {
    return undefined;
  }
}
