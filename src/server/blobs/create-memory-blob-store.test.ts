import { describe, expect, it } from "vitest";
import { testBlobStore } from "../../../test/contracts/blob-store.ts";
import { createMemoryBlobStore } from "./create-memory-blob-store.ts";

describe("memory blob store", () => {
  testBlobStore(async (limits) => createMemoryBlobStore(limits));

  it("limits the bytes of all sessions and frees deleted ones", async () => {
    const store = createMemoryBlobStore({ maxBlobBytes: 10, maxSessionBlobBytes: 10, maxMemoryBytes: 15 });
    await store.put("a", [new Uint8Array(10)], { mediaType: "a/b" });
    await expect(store.put("b", [new Uint8Array(6)], { mediaType: "a/b" })).rejects.toMatchObject({
      code: "blobs_full",
    });
    await store.deleteSession("a");
    expect(await store.put("b", [new Uint8Array(10)], { mediaType: "a/b" })).toMatchObject({ bytes: 10 });
  });
});
