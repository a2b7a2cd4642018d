/**
 * Erases everything of an owner: sessions with their records, search index and blobs, then tokens, share links, sign-ins
 * and recorded usage. The documents of the knowledge base have no owner and are kept.
 *
 * Invariant: calling it again is harmless and finishes an interrupted call. The credentials are erased after the
 * sessions, so that the owner can repeat the request until everything is done.
 */
import { isLoomError } from "../../protocol/index.ts";
import type { Credentials, ErasedCredentials } from "../auth/credentials/credentials.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import type { CommandHost } from "./command-host.ts";
import { deleteSessionAndBlobs } from "./delete-session.ts";

/** What was erased. */
export interface ErasedOwner extends ErasedCredentials {
  readonly sessions: number;
  readonly blobs: number;
}

/** Sessions deleted at once: each may wait for the end of its runs. */
const MAX_CONCURRENT = 20;
const NO_CREDENTIALS: ErasedCredentials = { tokens: 0, shares: 0, signIns: 0, usageRecords: 0 };

export interface EraseOptions {
  /** Host whose author may access the sessions of the owner. */
  readonly host: CommandHost;
  readonly blobs?: BlobStore | undefined;
  readonly credentials?: Pick<Credentials, "eraseOwner"> | undefined;
}

/** Resolves when the rows of the deleted sessions have been removed from the store. */
export async function eraseOwner({ host, blobs, credentials }: EraseOptions, owner: string): Promise<ErasedOwner> {
  const before = await deleteSessions(host, blobs, owner);
  const erased = (await credentials?.eraseOwner(owner)) ?? NO_CREDENTIALS;
  // A token may have created sessions until it was erased.
  const after = await deleteSessions(host, blobs, owner);
  // Deletes no run, and waits for the sweep of the deleted sessions.
  await host.log.prune({});
  return { sessions: before.sessions + after.sessions, blobs: before.blobs + after.blobs, ...erased };
}

async function deleteSessions(
  host: CommandHost,
  blobs: BlobStore | undefined,
  owner: string,
): Promise<Pick<ErasedOwner, "sessions" | "blobs">> {
  const total = { sessions: 0, blobs: 0 };
  for (;;) {
    const found = await host.log.listSessions({ owner, limit: MAX_CONCURRENT });
    if (found.length === 0) return total;
    await Promise.all(
      found.map(async ({ sessionId }) => {
        const files = (await blobs?.list(sessionId)) ?? [];
        const isDeleted = await deleteSessionAndBlobs(host, blobs, sessionId).catch((error: unknown) => {
          // Deleted and recreated by another owner meanwhile.
          if (!isLoomError(error, "unknown_session")) throw error;
          return false;
        });
        if (!isDeleted) return;
        total.sessions += 1;
        total.blobs += files.length;
      }),
    );
  }
}
