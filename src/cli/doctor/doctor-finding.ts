/** The result of one check of `loom doctor`, and the check of the clock, which others share. */

export interface DoctorFinding {
  readonly check: string;
  readonly status: "ok" | "warning" | "failed";
  readonly message: string;
  /** What to do. */
  readonly advice?: string;
}

export function report(
  check: string,
  status: DoctorFinding["status"],
  message: string,
  advice?: string,
): DoctorFinding {
  return { check, status, message, ...(advice === undefined ? {} : { advice }) };
}

/** Leases, share links and tokens expire by the clock; some seconds do not matter. */
const TOLERANCE_MS = 5000;

/** Compares the clock of this machine with another one. `other` was read between `before` and `after`. */
export function compareClocks(whose: string, other: number, before: number, after: number): DoctorFinding {
  const difference = other < before ? other - before : other > after ? other - after : 0;
  const seconds = Math.round(Math.abs(difference) / 1000);
  if (Number.isFinite(other) && Math.abs(difference) <= TOLERANCE_MS)
    return report("clock", "ok", `agrees with ${whose}`);
  const message = Number.isFinite(other)
    ? `${seconds} s ${difference > 0 ? "behind" : "ahead of"} ${whose}`
    : `${whose} did not report a time`;
  return report(
    "clock",
    "warning",
    message,
    "turn on time synchronization (NTP): leases and tokens depend on the clock",
  );
}
