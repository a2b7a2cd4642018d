/** Compares the clock of this machine with another one. */
import type { DoctorFinding } from "./doctor-finding.ts";

/** Leases, share links and tokens expire by the clock; some seconds do not matter. */
const TOLERANCE_MS = 5000;

/** `other` was read between `before` and `after`. */
export function compareClocks(whose: string, other: number, before: number, after: number): DoctorFinding {
  const difference = other < before ? other - before : other > after ? other - after : 0;
  const seconds = Math.round(Math.abs(difference) / 1000);
  if (Number.isFinite(other) && Math.abs(difference) <= TOLERANCE_MS)
    return { check: "clock", status: "ok", message: `agrees with ${whose}` };
  return {
    check: "clock",
    status: "warning",
    message: Number.isFinite(other)
      ? `${seconds} s ${difference > 0 ? "behind" : "ahead of"} ${whose}`
      : `${whose} did not report a time`,
    advice: "turn on time synchronization (NTP): leases and tokens depend on the clock",
  };
}
