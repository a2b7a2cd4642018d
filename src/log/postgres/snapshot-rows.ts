/** Writes the rows of encoder snapshots. They are derived from the records, and any may be deleted at any time. */
import type { PostgresDatabase } from "../../postgres/postgres-database.ts";
import type { EncoderSnapshot } from "../log.ts";
import { MAX_SNAPSHOTS } from "../rules.ts";
import { toColumn } from "../../postgres/text-column.ts";

const SAVE = `INSERT INTO @.snapshots (session, key, event_id, state)
  SELECT s.key, $2, $3::bigint, $4 FROM @.sessions s WHERE s.session_id = $1 AND s.first_id <= $3
  ON CONFLICT (session, key, event_id) DO UPDATE SET state = excluded.state RETURNING session`;

/** Deletes the oldest beyond the limits. */
const TRIM = `DELETE FROM @.snapshots p USING (
    SELECT seq, sum(octet_length(state)) OVER w AS bytes, row_number() OVER w AS place
    FROM @.snapshots WHERE session = $1 WINDOW w AS (ORDER BY seq DESC)) old
  WHERE p.session = $1 AND p.seq = old.seq AND (old.bytes > $2 OR old.place > ${MAX_SNAPSHOTS})`;

/** Does nothing if the session was deleted or the record was pruned. */
export async function saveSnapshot(
  db: PostgresDatabase,
  sessionId: string,
  { key, eventId, state }: EncoderSnapshot,
  maxBytes: number,
): Promise<void> {
  await db.transact(async ({ query }) => {
    const [row] = await query<{ session: number }>(SAVE, [toColumn(sessionId), toColumn(key), eventId, state]);
    if (row !== undefined) await query(TRIM, [row.session, maxBytes]);
  });
}
