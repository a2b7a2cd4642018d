/** Reads all parts of a server's data and names what is damaged. */
import { DatabaseSync } from "node:sqlite";
import { openKnowledgeBase } from "../../context/index.ts";
import { verifyStore } from "../../log/maintain-store.ts";
import { isLoomError } from "../../protocol/index.ts";
import { asStoreError } from "../../sqlite/as-store-error.ts";
import { assertIntact } from "../../sqlite/database.ts";
import { openCredentials } from "../../server/auth/credentials/open-credentials.ts";
import { digestOfSession, findBlobFault, listBlobs } from "./copy-blobs.ts";
import { type StoredPart, exists } from "./data-parts.ts";

export interface VerifiedData {
  sessions: number;
  records: number;
  blobs: number;
  tokens: number;
  documents: number;
  readonly damaged: string[];
}

/** Calls `onProgress` with what is being read. Parts that do not exist are left out. */
export async function verifyData(
  parts: readonly StoredPart[],
  onProgress: (what: string) => void,
): Promise<VerifiedData> {
  const found: VerifiedData = { sessions: 0, records: 0, blobs: 0, tokens: 0, documents: 0, damaged: [] };
  const names = new Map<string, string>();
  for (const part of parts.filter(exists))
    try {
      await READERS[part.name](part.path, found, names, onProgress);
    } catch (error) {
      if (!isLoomError(error)) throw error;
      found.damaged.push(`${part.name}: ${error.message}`);
    }
  return found;
}

/** Checks the structure of a whole database, which openers do only in part. Its rows have no checksums. */
function checkDatabase(path: string, name: string): void {
  try {
    const db = new DatabaseSync(path, { timeout: 10_000 });
    try {
      db.exec("PRAGMA query_only = ON");
      assertIntact(db, name, "integrity_check(1)");
    } finally {
      db.close();
    }
  } catch (error) {
    throw asStoreError(error, path);
  }
}

type ReadPart = (
  path: string,
  found: VerifiedData,
  /** IDs of sessions by the digests that name their folders. */
  names: Map<string, string>,
  onProgress: (what: string) => void,
) => void | Promise<void>;

const READERS: { readonly [name in StoredPart["name"]]: ReadPart } = {
  store(path, found, names, onProgress) {
    const { sessions, records, damage } = verifyStore(path, (count) => onProgress(`session ${count}`));
    for (const name of sessions) names.set(digestOfSession(name), name);
    found.sessions = sessions.length;
    found.records = records;
    for (const { what, message } of damage)
      found.damaged.push(what === "store" ? `store: ${message}` : `session ${JSON.stringify(what)}: ${message}`);
  },
  async blobs(path, found, names, onProgress) {
    for await (const folder of listBlobs(path)) {
      onProgress(`file ${++found.blobs}`);
      const session = names.get(folder.session);
      const fault = await findBlobFault(folder, session);
      const owner = session === undefined ? "an unknown session" : `session ${JSON.stringify(session)}`;
      if (fault !== undefined) found.damaged.push(`file ${folder.blob} of ${owner}: ${fault}`);
    }
  },
  async credentials(path, found) {
    checkDatabase(path, "credential store");
    const credentials = openCredentials(path);
    try {
      found.tokens = (await credentials.listTokens()).length;
    } finally {
      await credentials.close();
    }
  },
  async knowledge(path, found, _names, onProgress) {
    onProgress("documents");
    checkDatabase(path, "knowledge base");
    await using knowledge = await openKnowledgeBase(path);
    found.documents = (await knowledge.list()).length;
  },
};
