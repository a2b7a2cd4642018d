// The blob store in PostgreSQL, on a real server.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../../../test/postgres-server.ts";
import { LoomError } from "../../protocol/index.ts";
import { openPostgres, type PostgresDatabase } from "../../postgres/postgres-database.ts";
import { testBlobStore } from "../../../test/contracts/blob-store.ts";
import { openPostgresBlobStore } from "./open-postgres-blob-store.ts";
import { LONG } from "../../../test/sampling.ts";

const MB = 1024 * 1024;
const LIMITS = { maxBlobBytes: 4 * MB, maxSessionBlobBytes: 8 * MB };

describe.skipIf(NO_POSTGRES !== undefined)("blobs in PostgreSQL", () => {
  let server: PostgresServer;
  let schemas = 0;
  const databases: PostgresDatabase[] = [];
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    for (const db of databases) await db.close();
    await server.stop();
  });
  const connect = async (schema = `blobs_${++schemas}`): Promise<PostgresDatabase> => {
    const db = await openPostgres(server.url, { schema, maxConnections: 4 });
    databases.push(db);
    return db;
  };

  testBlobStore(async (limits) => openPostgresBlobStore(await connect(), limits));

  it.runIf(LONG)("stores a blob in chunks of limited size, and reads ranges across them", async () => {
    const db = await connect();
    const store = await openPostgresBlobStore(db, LIMITS);
    const bytes = Uint8Array.from({ length: 3 * MB + 7 }, (_, at) => (at * 31) % 251);
    const { blobId } = await store.put("s\0", [bytes.subarray(0, 5), bytes.subarray(5)], { mediaType: "image/png" });
    const [stored] = await db.read<{ n: number; longest: number }>(
      "SELECT count(*) AS n, max(length(bytes)) AS longest FROM @.blob_chunks",
    );
    expect(stored).toEqual({ n: 13, longest: 256 * 1024 });
    const range = { start: 256 * 1024 - 3, end: 2 * MB + 1 };
    const read = await store.read("s\0", blobId, range);
    const found = new Uint8Array(
      await new Response(read.bytes as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer(),
    );
    expect(Buffer.from(found).equals(bytes.subarray(range.start, range.end))).toBe(true);
    await store.deleteSession("s\0");
    expect(await db.read("SELECT 1 FROM @.blob_chunks")).toEqual([]);
  });

  it("does not count the stored blobs again for each upload", async () => {
    const db = await connect();
    const store = await openPostgresBlobStore(db, { maxBlobBytes: 10, maxSessionBlobBytes: 20 });
    const put = async (size: number) => store.put("s", [new Uint8Array(size)], { mediaType: "a/b" });
    await put(4);
    // Only a store that reads the row again notices it.
    await db.write("UPDATE @.blobs SET bytes = 100", []);
    for (const size of [5, 6]) await put(size);
    await expect(put(7)).rejects.toThrow(expect.objectContaining({ code: "blobs_full" }));
    // Sessions of older versions have no row.
    await db.write("DELETE FROM @.blob_usage", []);
    await expect(put(1)).rejects.toThrow(expect.objectContaining({ code: "blobs_full" }));
    await store.deleteSession("s");
    for (const size of [8, 9]) await put(size);
  });

  it("returns no damaged blob, and replaces it by the same bytes", async () => {
    const db = await connect();
    const store = await openPostgresBlobStore(db, LIMITS);
    const { blobId } = await store.put("s", [Buffer.from("hello")], { mediaType: "text/plain" });
    await db.write("UPDATE @.blob_chunks SET bytes = $1", [Buffer.from("jello")]);
    await expect(store.read("s", blobId)).rejects.toThrow(expect.objectContaining({ code: "blob_damaged" }));
    await store.put("s", [Buffer.from("hello")], { mediaType: "text/plain" });
    expect(await new Response((await store.read("s", blobId)).bytes).text()).toBe("hello");
    expect(await db.read("SELECT n FROM @.blob_chunks")).toEqual([{ n: 0 }]);
  });

  it("keeps the bytes of a blob whose answer was lost for good", async () => {
    const db = await connect();
    const store = await openPostgresBlobStore(db, LIMITS);
    const losing = new Proxy(db, {
      get(target, name) {
        if (name === "transact")
          return async (work: Parameters<PostgresDatabase["transact"]>[0]) => {
            await target.transact(work);
            throw new LoomError("store_unavailable", "the answer was lost");
          };
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    const unlucky = await openPostgresBlobStore(losing, LIMITS);
    await expect(unlucky.put("s", [Buffer.from("hello")], { mediaType: "text/plain" })).rejects.toThrow("was lost");
    const [blob] = await store.list("s");
    expect(await new Response((await store.read("s", blob!.blobId)).bytes).text()).toBe("hello");
  });

  it("counts the blobs of a session exactly when two processes store at once", async () => {
    const first = await connect();
    const stores = [first, await connect(first.settings.schema)];
    const usages: number[] = [];
    const reserve = async ({ blobs }: { readonly blobs: number }): Promise<void> => void usages.push(blobs);
    const [one, two] = await Promise.all(
      stores.map((db) => openPostgresBlobStore(db, { ...LIMITS, maxSessionBlobs: 5 })),
    );
    const puts = Array.from({ length: 8 }, (_, at) =>
      (at % 2 === 0 ? one! : two!).put("s", [Buffer.from([at])], { mediaType: "image/png", reserve }),
    );
    const results = await Promise.allSettled(puts);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    expect([usages, (await one!.list("s")).length]).toEqual([[1, 2, 3, 4, 5], 5]);
  });
});
