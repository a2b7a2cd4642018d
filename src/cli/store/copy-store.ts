/** `loom store copy`: copies sessions with their files, and tokens, to another store, and names what was not copied. */
import { type CopiedSession, copySession, listOldestFirst } from "../../log/copy-session.ts";
import type { StoreOptions } from "../../log/open-log.ts";
import type { PostgresOptions } from "../../postgres/postgres-options.ts";
import { isLoomError } from "../../protocol/index.ts";
import { CliError } from "../command.ts";
import type { BlobLimits, BlobStore } from "../../server/blobs/blob-store.ts";
import { fileExists, hideCredentials, isDatabase } from "../find-store.ts";
import { cleanText, formatJson, plural } from "../fit-text.ts";
import { openStore } from "../open-store.ts";
import type { StoreParts } from "../store-parts.ts";
import type { Terminal } from "../terminal.ts";
import { copyBlobs } from "./copy-blobs.ts";

/** Parts of a server's data that are not copied. Links belong to one incarnation of a session. */
const OTHER_PARTS = ["share links", "knowledge base"];

/** The source may have been written with larger limits. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;
const OPTIONS: StoreOptions = {
  limits: { maxEventBytes: NO_LIMIT, maxForkBytes: NO_LIMIT, maxCommandBytes: NO_LIMIT },
};

const BLOB_LIMITS: BlobLimits = {
  maxBlobBytes: NO_LIMIT,
  maxSessionBlobBytes: NO_LIMIT,
  maxSessionBlobs: NO_LIMIT,
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
  const counts = { copied: 0, present: 0, live: 0, different: 0, failed: 0, records: 0, bytes: 0, blobs: 0, tokens: 0 };
  try {
    await using stack = new AsyncDisposableStack();
    const open = async ({ store, database }: CopiedStore) => stack.use(await openStore(store, database));
    const [fromParts, toParts] = [await open(from), await open(to)];
    const [source, target] = [await fromParts.openLog(OPTIONS), await toParts.openLog(OPTIONS)];
    // Opening creates a folder, which a source that is only read must not get.
    const hasBlobs = isDatabase(from.store) || fileExists(`${from.store}-blobs`);
    const blobs = hasBlobs
      ? { source: await fromParts.openBlobs(BLOB_LIMITS), target: await toParts.openBlobs(BLOB_LIMITS) }
      : undefined;
    for await (const info of listOldestFirst(source)) {
      terminal.progress(`session ${counts.copied + counts.present + 1}, ${info.bytes} bytes`);
      const session = await copyFiles(await copySession(source, target, info), blobs);
      counts[session.status]++;
      counts.blobs += session.blobs;
      if (session.sha256 !== undefined) {
        counts.records += session.records;
        counts.bytes += session.bytes;
      }
      await report(session, isJson, terminal);
    }
    counts.tokens = await copyTokens(fromParts, toParts);
  } catch (error) {
    if (!isLoomError(error)) throw error;
    throw new CliError(error.message, "run the command again to copy the remaining sessions");
  }
  terminal.progress(undefined);
  const { copied, present, live, different, failed, records, bytes, blobs, tokens } = counts;
  const refused = live + different + failed;
  if (isJson) {
    const stores = { from: hideCredentials(from.store), to: hideCredentials(to.store) };
    await terminal.write(formatJson({ ...stores, ...counts, not_copied: OTHER_PARTS }));
  } else {
    await terminal.write(
      `${plural(copied, "session")} copied, ${present} already there, ${refused} not copied; ${plural(records, "record")}, ${bytes} bytes and ${plural(blobs, "file")} verified; ${plural(tokens, "token")} copied\n`,
    );
    await terminal.write(`not part of the copy: ${OTHER_PARTS.join(", ")}\n`);
  }
  return refused === 0 ? 0 : 1;
}

/** Returns the number of new tokens in the target. */
async function copyTokens(from: StoreParts, to: StoreParts): Promise<number> {
  const tokens = (await (await from.findCredentials())?.exportTokens()) ?? [];
  return tokens.length === 0 ? 0 : (await to.openCredentials()).importTokens(tokens);
}

interface CopiedStoreSession extends CopiedSession {
  /** Number of its images and files in the target. */
  readonly blobs: number;
}

/** Copies the files of a session that was copied. A session whose files are damaged counts as failed. */
async function copyFiles(
  session: CopiedSession,
  blobs: { readonly source: BlobStore; readonly target: BlobStore } | undefined,
): Promise<CopiedStoreSession> {
  if (session.sha256 === undefined || blobs === undefined) return { ...session, blobs: 0 };
  try {
    const copied = await copyBlobs(blobs.source, blobs.target, session.sessionId);
    return { ...session, status: copied.isNew ? "copied" : session.status, blobs: copied.blobs };
  } catch (error) {
    if (!isLoomError(error) || error.code.startsWith("store_")) throw error;
    return { ...session, status: "failed", reason: error.message, blobs: 0 };
  }
}

async function report(session: CopiedStoreSession, isJson: boolean, terminal: Terminal): Promise<void> {
  const { sessionId, status, records, bytes, blobs, sha256, reason } = session;
  if (isJson) {
    const line = { session_id: sessionId, status, records, bytes, blobs, sha256, reason };
    await terminal.write(formatJson(line));
  } else if (reason !== undefined)
    await terminal.write(`not copied: ${cleanText(sessionId)} (${status}): ${cleanText(reason)}\n`);
}
