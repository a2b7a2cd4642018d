/**
 * Blob store in PostgreSQL. The bytes of a blob are rows of at most `CHUNK_BYTES`, written while they arrive and read one
 * by one, so the memory of an upload and of a download is limited.
 *
 * Invariants: chunks belong to an upload, and only a row of `blobs` makes them a blob, in one step; a stored blob is
 * never changed; the blobs of a session are added and deleted by one process at a time. A read compares the bytes with
 * their digest before it returns any of them, unless they were compared within the last minute. Chunks of uploads that
 * did not finish within a day are deleted when the store is opened.
 */
import { createHash, randomUUID } from "node:crypto";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { ConcurrencyLimit } from "../../protocol/concurrency-limit.ts";
import { migratePostgres, type PostgresFormat } from "../../postgres/migrate.ts";
import type { PostgresDatabase } from "../../postgres/postgres-database.ts";
import { toColumn } from "../../postgres/text-column.ts";
import { assertRoom, confirmPut, damagedBlob, isBlobId, unknownBlob, Uploads } from "./blob-rules.ts";
import type {
  BlobBytes,
  BlobInfo,
  BlobLimits,
  BlobStore,
  ByteRange,
  OpenedBlob,
  PutBlobOptions,
} from "./blob-store.ts";

/** What a session has, so that an upload need not count. A session without a row is counted once. Added in version 2. */
const USAGE_TABLE = `
CREATE TABLE @.blob_usage (session text COLLATE "C" PRIMARY KEY, count bigint NOT NULL, bytes bigint NOT NULL);
`;
const SCHEMA = `
CREATE TABLE @.blob_chunks (
  upload text COLLATE "C" NOT NULL,
  n integer NOT NULL,
  bytes bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (upload, n)
);
CREATE INDEX blob_chunks_by_time ON @.blob_chunks (created_at);
CREATE TABLE @.blobs (
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session text COLLATE "C" NOT NULL,
  blob_id text COLLATE "C" NOT NULL,
  upload text COLLATE "C" NOT NULL UNIQUE,
  media_type text NOT NULL,
  name text,
  bytes bigint NOT NULL,
  created_at bigint NOT NULL,
  UNIQUE (session, blob_id)
);
-- Compressed images do not get smaller.
ALTER TABLE @.blob_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
${USAGE_TABLE}`;
export const BLOBS_FORMAT: PostgresFormat = { name: "blobs", schema: SCHEMA, oldest: 1, migrations: [USAGE_TABLE] };

const CHUNK_BYTES = 256 * 1024;
const CHECK_VALID_MS = 60_000;
const MAX_REMEMBERED_CHECKS = 10_000;

const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('loom blobs ' || $1, 0))";
const FIND = "SELECT * FROM @.blobs WHERE session = $1 AND blob_id = $2";
const USAGE = "SELECT count, bytes FROM @.blob_usage WHERE session = $1";
const COUNT = `INSERT INTO @.blob_usage (session, count, bytes)
  SELECT $1, count(*), coalesce(sum(bytes), 0)::bigint FROM @.blobs WHERE session = $1 RETURNING count, bytes`;
const ADD_USAGE = "UPDATE @.blob_usage SET count = count + $2, bytes = bytes + $3 WHERE session = $1";
const DELETE_UPLOAD = "DELETE FROM @.blob_chunks WHERE upload = $1";
const IS_UNUSED = "NOT EXISTS (SELECT 1 FROM @.blobs b WHERE b.upload = c.upload)";
/** Keeps the chunks of a blob that was stored although the answer to the commit was lost. */
const DISCARD = `DELETE FROM @.blob_chunks c WHERE c.upload = $1 AND ${IS_UNUSED}`;
const SWEEP = `DELETE FROM @.blob_chunks c WHERE c.created_at < now() - interval '1 day' AND ${IS_UNUSED}`;

interface BlobRow {
  readonly blob_id: string;
  readonly upload: string;
  readonly media_type: string;
  readonly name: string | null;
  readonly bytes: number;
  readonly created_at: number;
}

interface StoredUsage {
  readonly count: number;
  readonly bytes: number;
}

/** Creates the tables if they do not exist. The caller closes the database. */
export async function openPostgresBlobStore(db: PostgresDatabase, limits: BlobLimits): Promise<BlobStore> {
  await migratePostgres(db, BLOBS_FORMAT);
  await db.write(SWEEP, []);
  return new PostgresBlobStore(db, limits);
}

class PostgresBlobStore implements BlobStore {
  readonly #db: PostgresDatabase;
  readonly #limits: BlobLimits;
  readonly #uploads: Uploads;
  /** A transaction that waits for `confirm` and `reserve` may need another connection: half of them must stay free. */
  readonly #publishing: ConcurrencyLimit;
  /** When the bytes of an upload matched their digest. */
  readonly #checks = new BoundedMap<number>(MAX_REMEMBERED_CHECKS);

  constructor(db: PostgresDatabase, limits: BlobLimits) {
    this.#db = db;
    this.#limits = limits;
    this.#uploads = new Uploads(limits);
    this.#publishing = new ConcurrencyLimit(Math.max(1, Math.floor(db.settings.maxConnections / 2)));
  }

  put(sessionId: string, bytes: BlobBytes, options: PutBlobOptions): Promise<BlobInfo> {
    return this.#uploads.run(sessionId, bytes, options, async (receive) => {
      const upload = randomUUID();
      try {
        const writer = new ChunkWriter(this.#db, upload);
        const info = await receive((chunk) => writer.write(chunk));
        await writer.flush();
        const stored = await this.#publishing.run(() => this.#publish(upload, info, options), options.signal);
        if (stored.upload !== upload) await this.#db.write(DISCARD, [upload]);
        return toInfo(sessionId, stored);
      } catch (error) {
        // If this fails too, the chunks are deleted after a day.
        await this.#db.write(DISCARD, [upload]).catch(() => undefined);
        throw error;
      }
    });
  }

  /** Keeps the existing blob if it is intact. Replaces a damaged one. */
  async #publish(upload: string, info: BlobInfo, options: PutBlobOptions): Promise<BlobRow> {
    const { sessionId, blobId, mediaType, name, createdAt } = info;
    const session = toColumn(sessionId);
    return this.#db.transact(async ({ query }) => {
      await query(LOCK, [session]);
      await confirmPut(options);
      const [known] = await query<BlobRow>(FIND, [session, blobId]);
      if (known !== undefined) {
        if (known.upload === upload || (await this.#isIntact(known))) return known;
        await query(DELETE_UPLOAD, [known.upload]);
        await query("DELETE FROM @.blobs WHERE upload = $1", [known.upload]);
        await query(ADD_USAGE, [session, -1, -known.bytes]);
      }
      const [counted] = await query<StoredUsage>(USAGE, [session]);
      const used = counted ?? (await query<StoredUsage>(COUNT, [session]))[0] ?? { count: 0, bytes: 0 };
      assertRoom(used, info.bytes, this.#limits);
      await options.reserve?.({ blobs: used.count + 1, bytes: used.bytes + info.bytes });
      const [added] = await query<BlobRow>(
        `INSERT INTO @.blobs (session, blob_id, upload, media_type, name, bytes, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING *`,
        [session, blobId, upload, mediaType, name ?? null, info.bytes, createdAt],
      );
      await query(ADD_USAGE, [session, 1, info.bytes]);
      return added as BlobRow;
    });
  }

  async get(sessionId: string, blobId: string): Promise<BlobInfo | undefined> {
    const row = await this.#find(sessionId, blobId);
    return row === undefined ? undefined : toInfo(sessionId, row);
  }

  async read(sessionId: string, blobId: string, range?: ByteRange): Promise<OpenedBlob> {
    const row = await this.#find(sessionId, blobId);
    if (row === undefined) throw unknownBlob(sessionId, blobId);
    const checkedAt = this.#checks.get(row.upload) ?? Number.NEGATIVE_INFINITY;
    if (performance.now() - checkedAt >= CHECK_VALID_MS && !(await this.#isIntact(row)))
      throw (await this.#find(sessionId, blobId)) === undefined
        ? unknownBlob(sessionId, blobId)
        : damagedBlob(sessionId, blobId);
    const { start, end } = range ?? { start: 0, end: row.bytes };
    let at = start;
    const bytes = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        if (at >= end) {
          controller.close();
          return;
        }
        const first = Math.floor(at / CHUNK_BYTES);
        const chunk = await this.#readChunk(row.upload, first);
        // Deleted while it was read.
        if (chunk === undefined) throw unknownBlob(sessionId, blobId);
        controller.enqueue(chunk.subarray(at - first * CHUNK_BYTES, end - first * CHUNK_BYTES));
        at = (first + 1) * CHUNK_BYTES;
      },
    });
    return { info: toInfo(sessionId, row), bytes };
  }

  async list(sessionId: string): Promise<readonly BlobInfo[]> {
    const rows = await this.#db.read<BlobRow>("SELECT * FROM @.blobs WHERE session = $1 ORDER BY key", [
      toColumn(sessionId),
    ]);
    return rows.map((row) => toInfo(sessionId, row));
  }

  async deleteSession(sessionId: string): Promise<void> {
    const session = toColumn(sessionId);
    await this.#db.transact(async ({ query }) => {
      await query(LOCK, [session]);
      await query(
        `WITH gone AS (DELETE FROM @.blobs WHERE session = $1 RETURNING upload)
        DELETE FROM @.blob_chunks WHERE upload IN (SELECT upload FROM gone)`,
        [session],
      );
      await query("DELETE FROM @.blob_usage WHERE session = $1", [session]);
    });
  }

  async close(): Promise<void> {
    this.#checks.clear();
  }

  async #find(sessionId: string, blobId: string): Promise<BlobRow | undefined> {
    if (!isBlobId(blobId)) return undefined;
    const [row] = await this.#db.read<BlobRow>(FIND, [toColumn(sessionId), blobId]);
    return row;
  }

  async #isIntact({ upload, blob_id: blobId, bytes }: BlobRow): Promise<boolean> {
    const hash = createHash("sha256");
    let length = 0;
    for (let n = 0; length < bytes; n++) {
      const chunk = await this.#readChunk(upload, n);
      if (chunk === undefined || chunk.length === 0) return false;
      hash.update(chunk);
      length += chunk.length;
    }
    const isIntact = length === bytes && hash.digest("hex") === blobId;
    if (isIntact) this.#checks.set(upload, performance.now());
    return isIntact;
  }

  async #readChunk(upload: string, n: number): Promise<Uint8Array | undefined> {
    const [row] = await this.#db.read<{ readonly bytes: Uint8Array }>(
      "SELECT bytes FROM @.blob_chunks WHERE upload = $1 AND n = $2",
      [upload, n],
    );
    return row?.bytes;
  }
}

/** Writes the bytes of an upload as rows of `CHUNK_BYTES`. */
class ChunkWriter {
  readonly #db: PostgresDatabase;
  readonly #upload: string;
  #held: Uint8Array[] = [];
  #length = 0;
  #n = 0;

  constructor(db: PostgresDatabase, upload: string) {
    this.#db = db;
    this.#upload = upload;
  }

  async write(chunk: Uint8Array): Promise<void> {
    for (let from = 0; from < chunk.length;) {
      // Copied because the source may reuse its buffer.
      const part = Uint8Array.from(chunk.subarray(from, from + CHUNK_BYTES - this.#length));
      this.#held.push(part);
      this.#length += part.length;
      from += part.length;
      if (this.#length === CHUNK_BYTES) await this.flush();
    }
  }

  async flush(): Promise<void> {
    if (this.#length === 0) return;
    const values = [this.#upload, this.#n++, Buffer.concat(this.#held)];
    [this.#held, this.#length] = [[], 0];
    // Repeated after a lost answer: the chunk is there.
    await this.#db.write(
      "INSERT INTO @.blob_chunks (upload, n, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
      values,
    );
  }
}

function toInfo(sessionId: string, row: BlobRow): BlobInfo {
  const { blob_id: blobId, media_type: mediaType, name, bytes, created_at: createdAt } = row;
  return { blobId, sessionId, mediaType, name: name ?? undefined, bytes, createdAt };
}
