/** Deletes old runs of the in-memory log, as a retention policy says. */
import type { PruneReport, RetentionPolicy } from "./retention-policy.ts";
import { cutSession, findCut, type MemorySession, type SessionCut } from "./memory-session.ts";
import { SETTLED_COMMANDS_MS } from "./rules.ts";

export function pruneSessions(
  sessions: readonly MemorySession[],
  { maxAgeMs, maxSessionBytes, maxBytes, now: given }: RetentionPolicy,
  clock: number,
): PruneReport {
  const now = given ?? clock;
  let report: PruneReport = { runs: 0, records: 0, bytes: 0 };
  const apply = (session: MemorySession, cut: SessionCut): void => {
    const gone = cutSession(session, cut);
    report = {
      runs: report.runs + gone.runs,
      records: report.records + gone.records,
      bytes: report.bytes + gone.bytes,
    };
  };
  for (const session of sessions) {
    for (let cut = findCut(session); cut !== undefined; cut = findCut(session)) {
      const isOld = maxAgeMs !== undefined && cut.endedAt < now - maxAgeMs;
      if (!isOld && (maxSessionBytes === undefined || session.bytes <= maxSessionBytes)) break;
      apply(session, cut);
    }
    const keepSince = now - (maxAgeMs ?? SETTLED_COMMANDS_MS);
    for (const [commandId, settledAt] of session.settledAt) {
      if (settledAt >= keepSince) continue;
      session.commands.delete(commandId);
      session.settledAt.delete(commandId);
    }
  }
  const total = () => sessions.reduce((sum, { bytes }) => sum + bytes, 0);
  const most = maxBytes ?? Number.POSITIVE_INFINITY;
  while (total() > most) {
    const candidates = sessions.flatMap((session) => {
      const cut = findCut(session);
      return cut === undefined ? [] : [{ session, cut }];
    });
    const [oldest] = candidates.sort((a, b) => a.cut.endedAt - b.cut.endedAt);
    if (oldest === undefined) break;
    apply(oldest.session, oldest.cut);
  }
  return report;
}
