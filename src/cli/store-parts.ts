/** The parts of a store, as the commands use them. `openStore` opens them. */
import type { KnowledgeBase, KnowledgeBaseOptions } from "../context/index.ts";
import type { LoomError } from "../protocol/index.ts";
import type { StoredLog, StoreOptions } from "../log/open-log.ts";
import type { Credentials } from "../server/auth/credentials/credentials.ts";
import type { RateCounters } from "../server/auth/limits/rates.ts";
import type { BlobLimits, BlobStore } from "../server/blobs/blob-store.ts";

/** How a process that starts waits for a database. */
export interface DatabaseWait {
  /** Then it throws `store_unavailable`. A wrong password or name is not waited for. */
  readonly waitMs: number;
  /** Called once if the database is not available, and once when it is again. */
  readonly onChange: (fault: LoomError | undefined) => void;
}

/** Open each part at most once. Disposing closes the opened parts. */
export interface StoreParts extends AsyncDisposable {
  /** The file or the URL. A URL may contain a password. */
  readonly address: string;
  /** Waits until the database can be reached and is not a standby. Absent for files. */
  readonly waitForDatabase?: (options: DatabaseWait) => Promise<void>;
  openLog(options: StoreOptions): Promise<StoredLog>;
  openCredentials(): Promise<Credentials>;
  /** Returns undefined if there is no credentials file. Throws if it exists but cannot be opened. */
  findCredentials(): Promise<Credentials | undefined>;
  /** Returns undefined for files: a server then counts in memory. */
  openRateCounters(): Promise<RateCounters | undefined>;
  openBlobs(limits: BlobLimits): Promise<BlobStore>;
  /** Returns undefined for files: the knowledge base is then another file. */
  openKnowledge(options?: KnowledgeBaseOptions): Promise<KnowledgeBase | undefined>;
}
