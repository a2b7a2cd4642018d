// Tests that every blob store must pass.
import { createHash } from "node:crypto";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { isLoomError, LoomError } from "../../src/protocol/index.ts";
import type { BlobLimits, BlobStore, ByteRange } from "../../src/server/blobs/blob-store.ts";

const PNG = { mediaType: "image/png" };

export function testBlobStore(open: (limits: BlobLimits) => Promise<BlobStore>): void {
  let store: BlobStore;
  const limits = { maxBlobBytes: 1000, maxSessionBlobBytes: 2500, maxSessionBlobs: 4, maxUploads: 3 };
  beforeEach(async () => {
    store = await open(limits);
  });
  afterEach(() => store.close());

  const bytes = (size: number, first = 0): Uint8Array => Uint8Array.from({ length: size }, (_, i) => (i + first) % 251);
  const readAll = async (session: string, blobId: string, range?: ByteRange): Promise<Uint8Array> => {
    const read = await store.read(session, blobId, range);
    return new Uint8Array(await new Response(read.bytes as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer());
  };
  const codeOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => "none",
      (error: unknown) => (isLoomError(error) ? error.code : String(error)),
    );

  it("returns the stored bytes by their digest, however they were chunked", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 80 }), { maxLength: 6 }), fc.uuid(), async (chunks, id) => {
        const whole = Buffer.concat(chunks);
        const info = await store.put(id, chunks, { mediaType: "Image/PNG; x=y", name: "a.png" });
        expect(info).toMatchObject({
          blobId: createHash("sha256").update(whole).digest("hex"),
          sessionId: id,
          mediaType: "image/png",
          name: "a.png",
          bytes: whole.length,
        });
        expect(await store.get(id, info.blobId)).toEqual(info);
        expect(Buffer.from(await readAll(id, info.blobId)).equals(whole)).toBe(true);
        expect(await store.list(id)).toEqual([info]);
        await store.deleteSession(id);
      }),
      { numRuns: 15 },
    );
  });

  it("returns a range of a blob", async () => {
    const { blobId } = await store.put("s", [bytes(100)], PNG);
    expect(await readAll("s", blobId, { start: 10, end: 20 })).toEqual(bytes(100).subarray(10, 20));
    expect(await readAll("s", blobId, { start: 99, end: 100 })).toEqual(bytes(100).subarray(99));
    expect(await readAll("s", blobId, { start: 5, end: 5 })).toEqual(new Uint8Array());
  });

  it("stores the same bytes once and keeps the first name", async () => {
    const first = await store.put("s", [bytes(10)], { ...PNG, name: "one" });
    const puts = [1, 2, 3].map((n) => store.put("s", [bytes(10)], { mediaType: "text/plain", name: `n${n}` }));
    expect(await Promise.all(puts)).toEqual([first, first, first]);
    const fresh = await Promise.all([1, 2, 3].map(() => store.put("t", [bytes(20)], PNG)));
    expect(new Set(fresh.map(({ createdAt }) => createdAt)).size).toBe(1);
    expect(await store.list("t")).toHaveLength(1);
  });

  it("keeps sessions apart", async () => {
    const { blobId } = await store.put("a/../b", [bytes(10)], PNG);
    expect(await store.get("b", blobId)).toBeUndefined();
    expect(await codeOf(store.read("b", blobId))).toBe("unknown_blob");
    expect(await codeOf(store.read("a/../b", "../meta"))).toBe("unknown_blob");
    expect(await store.list("none")).toEqual([]);
    await store.deleteSession("none");
    await store.deleteSession("a/../b");
    expect(await store.get("a/../b", blobId)).toBeUndefined();
    expect(await store.list("a/../b")).toEqual([]);
  });

  it("enforces each limit exactly and keeps nothing of a rejected blob", async () => {
    expect(await codeOf(store.put("s", [bytes(600), bytes(401)], PNG))).toBe("blob_too_large");
    await store.put("s", [bytes(1000)], PNG);
    const second = await store.put("s", [bytes(1000, 1)], PNG);
    expect(await codeOf(store.put("s", [bytes(501)], PNG))).toBe("blobs_full");
    await store.put("s", [bytes(500)], PNG);
    // Bytes that are already stored need no space.
    expect(await store.put("s", [bytes(1000, 1)], PNG)).toEqual(second);
    expect(await codeOf(store.put("s", [bytes(1)], PNG))).toBe("blobs_full");
    await store.put("s", [], PNG);
    expect(await codeOf(store.put("t", [], PNG))).toBe("none");
    for (const size of [1, 2, 3]) await store.put("t", [bytes(size)], PNG);
    expect(await codeOf(store.put("t", [bytes(4)], PNG))).toBe("blobs_full");
    expect(await store.list("t")).toHaveLength(4);
    await store.deleteSession("t");
    expect(await codeOf(store.put("t", [bytes(4)], PNG))).toBe("none");
  });

  it("rejects unprintable names and keeps only the last part of a path", async () => {
    for (const name of ["a\nb", "a\u202eb", "x".repeat(256), "\ud800"])
      expect(await codeOf(store.put("s", [], { ...PNG, name }))).toBe("invalid_name");
    expect((await store.put("s", [], { mediaType: "no type", name: "C:\\dir/图 1.png" })).name).toBe("图 1.png");
    expect((await store.list("s"))[0]?.mediaType).toBe("application/octet-stream");
  });

  it("stops when aborted, also while waiting, and when the source fails", async () => {
    const abort = new AbortController();
    let isReturned = false;
    const asked = Promise.withResolvers<void>();
    const hanging = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          asked.resolve();
          return new Promise<IteratorResult<Uint8Array>>(() => undefined);
        },
        return: async () => {
          isReturned = true;
          return { done: true as const, value: undefined };
        },
      }),
    };
    const put = store.put("s", hanging, { ...PNG, signal: abort.signal });
    await asked.promise;
    abort.abort(new Error("left"));
    await expect(put).rejects.toThrow("left");
    expect(isReturned).toBe(true);
    const failing = async function* (): AsyncGenerator<Uint8Array> {
      yield bytes(3);
      throw new Error("source failed");
    };
    await expect(store.put("s", failing(), PNG)).rejects.toThrow("source failed");
    expect(await store.list("s")).toEqual([]);
  });

  it("lets uploads wait for others, but not the files of tools and forks for slow clients", async () => {
    const gates = [1, 2, 3].map(() => Promise.withResolvers<void>());
    const slow = async function* (index: number): AsyncGenerator<Uint8Array> {
      await gates[index]?.promise;
      yield bytes(7 + index);
    };
    const going = gates.map((_, index) => store.put("s", slow(index), { ...PNG, isFromClient: true }));
    expect(await codeOf(store.put("other", [bytes(1)], PNG))).toBe("none");
    const aborting = new AbortController();
    const aborted = codeOf(store.put("s", [bytes(2)], { ...PNG, isFromClient: true, signal: aborting.signal }));
    aborting.abort(new LoomError("cancelled", "The upload was aborted"));
    expect(await aborted).toBe("cancelled");
    const waiting = codeOf(store.put("s", [bytes(1)], { ...PNG, isFromClient: true }));
    gates[1]?.resolve();
    expect(await waiting).toBe("none");
    for (const gate of gates) gate.resolve();
    await Promise.all(going);
  });

  it("limits how long an upload waits", async () => {
    const impatient = await open({ ...limits, maxUploads: 1, uploadWaitMs: 20 });
    const gate = Promise.withResolvers<Uint8Array>();
    const slow = async function* (): AsyncGenerator<Uint8Array> {
      yield await gate.promise;
    };
    const going = impatient.put("s", slow(), PNG);
    expect(await codeOf(impatient.put("s", [bytes(1)], PNG))).toBe("too_many_open");
    gate.resolve(bytes(7));
    await going;
    expect(await codeOf(impatient.put("s", [bytes(1)], PNG))).toBe("none");
    await impatient.close();
  });
}
