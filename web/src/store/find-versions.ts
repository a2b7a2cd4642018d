/**
 * Finds where the versions of a conversation differ from the shown session. A fork keeps the record IDs of what it
 * copied, so two sessions have the same record if it was written in the same session before both were forked.
 */
import type { RunVersions } from "../../../src/react/page-parts.ts";
import type { Run, Session } from "../../../src/server/api/shapes.generated.ts";

export interface PositionedVersions extends RunVersions {
  /** Last record that the versions share. */
  readonly after: number;
  /** They share the beginning of the run, so they have the same message. */
  readonly isInside: boolean;
}

/** Versions at a run, by run ID. */
export type VersionsByRun = ReadonlyMap<string, PositionedVersions>;

/** `branches`: all versions, oldest first, with the shown session. `runs`: those of the shown session. */
export function findVersions(session: string, branches: readonly Session[], runs: readonly Run[]): VersionsByRun {
  const byId = new Map(branches.map((branch) => [branch.session_id, branch]));
  const positions = new Set(branches.flatMap(({ forked_from: origin }) => origin?.event_id ?? []));
  const oldestFirst = runs.toSorted((a, b) => a.first_event_id - b.first_event_id);
  const found = new Map<string, PositionedVersions>();
  for (const after of [...positions].sort((a, b) => a - b)) {
    const run = oldestFirst.find(({ last_event_id: end = Infinity }) => end > after);
    if (run === undefined || found.has(run.run_id)) continue;
    const versions = listVersions(session, branches, (id, record) => findWriter(byId, id, record), after);
    const at = versions.findIndex((sessions) => sessions.includes(session));
    if (at === -1 || versions.length < 2) continue;
    const [previous, next] = [versions[at - 1]?.at(-1), versions[at + 1]?.at(-1)];
    found.set(run.run_id, {
      after,
      isInside: run.first_event_id <= after,
      position: at + 1,
      count: versions.length,
      ...(previous === undefined ? {} : { previous }),
      ...(next === undefined ? {} : { next }),
    });
  }
  return found;
}

type FindWriter = (session: string, record: number) => string;

/** Groups the sessions that share the records up to `after` by their next record; each group is a version. */
function listVersions(
  session: string,
  branches: readonly Session[],
  findWriterOf: FindWriter,
  after: number,
): readonly (readonly string[])[] {
  const versions = new Map<string, string[]>();
  for (const { session_id: id, last_event_id: last } of branches) {
    // Nothing is shared before the first record.
    const isShared = after === 0 || findWriterOf(id, after) === findWriterOf(session, after);
    if (last <= after || !isShared) continue;
    const writer = findWriterOf(id, after + 1);
    versions.set(writer, [...(versions.get(writer) ?? []), id]);
  }
  return [...versions.values()];
}

/** Returns the session that a record of this session was first written in. It may have been deleted. */
function findWriter(byId: ReadonlyMap<string, Session>, session: string, record: number): string {
  let writer = session;
  // A session is forked from an older one, so the path ends.
  for (let steps = 0; steps <= byId.size; steps++) {
    const origin = byId.get(writer)?.forked_from;
    if (origin === undefined || origin.event_id < record) return writer;
    writer = origin.session_id;
  }
  return writer;
}
