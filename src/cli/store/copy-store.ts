/** `loom store copy`: copies all sessions from one store to another, and names those that were not copied. */
import { type CopiedSession, copySession, listOldestFirst } from "../../log/copy-session.ts";
import type { StoredLog, StoreOptions } from "../../log/open-log.ts";
import type { PostgresOptions } from "../../postgres/postgres-options.ts";
import { isLoomError } from "../../protocol/index.ts";
import { CliError } from "../command.ts";
import { hideCredentials } from "../find-store.ts";
import { cleanText, escapeJson, plural } from "../fit-text.ts";
import { openStore } from "../open-store.ts";
import type { Terminal } from "../terminal.ts";

/** Parts of a server's data that are not sessions. */
const OTHER_PARTS = ["uploaded files", "tokens", "knowledge base"];

/** The source may have been written with larger limits. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;
const OPTIONS: StoreOptions = {
  limits: { maxEventBytes: NO_LIMIT, maxForkBytes: NO_LIMIT, maxCommandBytes: NO_LIMIT },
};

/** A store, and how to connect to it if it is a database. */
export interface CopiedStore {
  readonly store: string;
  readonly database: PostgresOptions;
}

export async function copyStore(
  from: CopiedStore,
  to: CopiedStore,
  isJson: boolean,
  terminal: Terminal,
): Promise<number> {
  const counts = { copied: 0, present: 0, live: 0, different: 0, failed: 0, records: 0, bytes: 0 };
  try {
    await using stack = new AsyncDisposableStack();
    const open = async ({ store, database }: CopiedStore): Promise<StoredLog> =>
      stack.use(await openStore(store, database)).openLog(OPTIONS);
    const [source, target] = [await open(from), await open(to)];
    for await (const info of listOldestFirst(source)) {
      terminal.progress(`session ${counts.copied + counts.present + 1}, ${info.bytes} bytes`);
      const session = await copySession(source, target, info);
      counts[session.status]++;
      if (session.sha256 !== undefined) {
        counts.records += session.records;
        counts.bytes += session.bytes;
      }
      await report(session, isJson, terminal);
    }
  } catch (error) {
    if (!isLoomError(error)) throw error;
    throw new CliError(error.message, "run the command again to copy the remaining sessions");
  }
  terminal.progress(undefined);
  const { copied, present, live, different, failed, records, bytes } = counts;
  const refused = live + different + failed;
  if (isJson) {
    const stores = { from: hideCredentials(from.store), to: hideCredentials(to.store) };
    await terminal.write(`${escapeJson(JSON.stringify({ ...stores, ...counts, not_copied: OTHER_PARTS }))}\n`);
  } else {
    await terminal.write(
      `${plural(copied, "session")} copied, ${present} already there, ${refused} not copied; ${plural(records, "record")}, ${bytes} bytes verified\n`,
    );
    await terminal.write(`not part of the copy: ${OTHER_PARTS.join(", ")}\n`);
  }
  return refused === 0 ? 0 : 1;
}

async function report(session: CopiedSession, isJson: boolean, terminal: Terminal): Promise<void> {
  const { sessionId, status, records, bytes, sha256, reason } = session;
  if (isJson) {
    const line = { session_id: sessionId, status, records, bytes, sha256, reason };
    await terminal.write(`${escapeJson(JSON.stringify(line))}\n`);
  } else if (reason !== undefined)
    await terminal.write(`not copied: ${cleanText(sessionId)} (${status}): ${cleanText(reason)}\n`);
}
