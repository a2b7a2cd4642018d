import { spawn } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testBlobStore } from "../../../test/contracts/blob-store.ts";
import { openBlobStore } from "./open-blob-store.ts";
import { LONG } from "../../../test/sampling.ts";

const LIMITS = { maxBlobBytes: 1024 * 1024, maxSessionBlobBytes: 16 * 1024 * 1024 };
let folder: string;
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "loom-blobs-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const nextFolder = (): string => join(folder, `store-${++count}`, "blobs");

async function flipByte(path: string, at: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

async function replaceInFile(path: string, old: string, text: string): Promise<void> {
  await writeFile(path, (await readFile(path, "utf8")).replace(old, text));
}

describe("folder blob store", () => {
  testBlobStore((limits) => openBlobStore(nextFolder(), limits));

  it("is private to its owner", async () => {
    const path = nextFolder();
    const store = await openBlobStore(path, LIMITS);
    const { blobId } = await store.put("s", [Buffer.from("x")], { mediaType: "a/b" });
    const [session = ""] = (await readdir(path)).filter((name) => name !== "unfinished");
    expect(session).toMatch(/^[0-9a-f]{64}$/);
    for (const [name, mode] of [
      ["", 0o700],
      ["unfinished", 0o700],
      [session, 0o700],
      [join(session, blobId), 0o700],
      [join(session, blobId, "bytes"), 0o600],
    ] as const)
      expect((await stat(join(path, name))).mode & 0o777).toBe(mode);
    expect(await readdir(join(path, "unfinished"))).toEqual([]);
  });

  it("does not measure the stored files again for each upload", async () => {
    const path = nextFolder();
    const store = await openBlobStore(path, { maxBlobBytes: 10, maxSessionBlobBytes: 20 });
    const { blobId } = await store.put("s", [new Uint8Array(4)], { mediaType: "a/b" });
    const [session = ""] = (await readdir(path)).filter((name) => name !== "unfinished");
    // Only a store that reads the size of the file again notices it.
    await writeFile(join(path, session, blobId, "bytes"), "x".repeat(100));
    for (const size of [5, 6]) await store.put("s", [new Uint8Array(size)], { mediaType: "a/b" });
    const more = store.put("s", [new Uint8Array(7)], { mediaType: "a/b" });
    await expect(more).rejects.toMatchObject({ code: "blobs_full" });
    await store.close();
  });

  it("is shared between processes, including limits", async () => {
    const path = nextFolder();
    const limits = { maxBlobBytes: 10, maxSessionBlobBytes: 10 };
    const [one, other] = [await openBlobStore(path, limits), await openBlobStore(path, limits)];
    const info = await one.put("s", [new Uint8Array(4)], { mediaType: "a/b", name: "n" });
    expect(await other.get("s", info.blobId)).toEqual(info);
    await other.put("s", [new Uint8Array(5)], { mediaType: "a/b" });
    await expect(one.put("s", [new Uint8Array(2)], { mediaType: "a/b" })).rejects.toMatchObject({ code: "blobs_full" });
    await other.deleteSession("s");
    expect(await one.list("s")).toEqual([]);
  });

  it("streams a blob to the end after its deletion", async () => {
    const store = await openBlobStore(nextFolder(), LIMITS);
    const { blobId } = await store.put("s", [new Uint8Array(500_000)], { mediaType: "a/b" });
    const { bytes } = await store.read("s", blobId);
    await store.deleteSession("s");
    expect((await new Response(bytes as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer()).byteLength).toBe(
      500_000,
    );
  });

  it.each([
    ["a changed byte", "bytes", (path: string) => flipByte(path, 300_000)],
    ["missing bytes", "bytes", (path: string) => truncate(path, 399_999)],
    ["no bytes", "bytes", (path: string) => rm(path)],
    ["an unreadable description", "meta.json", (path: string) => writeFile(path, '{"mediaType"')],
    ["no description", "meta.json", (path: string) => rm(path)],
    ["a changed description", "meta.json", (path: string) => replaceInFile(path, '"a/b"', '"a/c"')],
  ])("refuses a blob with %s, and accepts the same bytes again", async (_, name, damage) => {
    const path = nextFolder();
    const store = await openBlobStore(path, LIMITS);
    const data = Buffer.alloc(400_000, "loom");
    const { blobId } = await store.put("s", [data], { mediaType: "a/b" });
    const [session = ""] = (await readdir(path)).filter((each) => each !== "unfinished");
    await damage(join(path, session, blobId, name));
    const refusal = { code: "blob_damaged", details: { session_id: "s", blob_id: blobId } };
    // Also for a range outside the damage.
    for (const range of [undefined, { start: 0, end: 10 }, { start: 5, end: 5 }])
      await expect(store.read("s", blobId, range)).rejects.toMatchObject(refusal);
    expect((await store.put("s", [data], { mediaType: "a/b" })).blobId).toBe(blobId);
    const { bytes } = await store.read("s", blobId);
    expect(Buffer.from(await new Response(bytes as ReadableStream<Uint8Array<ArrayBuffer>>).bytes()).equals(data)).toBe(
      true,
    );
    expect(await readdir(join(path, "unfinished"))).toEqual([]);
  });

  it("lists the other blobs if a description is damaged, and reads descriptions without a digest", async () => {
    const path = nextFolder();
    const store = await openBlobStore(path, LIMITS);
    const first = await store.put("s", [Uint8Array.of(1)], { mediaType: "a/b" });
    const second = await store.put("s", [Uint8Array.of(2)], { mediaType: "a/b", name: "two" });
    const [session = ""] = (await readdir(path)).filter((each) => each !== "unfinished");
    await writeFile(join(path, session, first.blobId, "meta.json"), "{");
    const { blobId, ...rest } = second;
    await writeFile(join(path, session, blobId, "meta.json"), JSON.stringify(rest));
    const damaged: string[] = [];
    expect(await store.list("s", (id) => damaged.push(id))).toEqual([second]);
    expect(damaged).toEqual([first.blobId]);
    expect(await store.list("s")).toEqual([second]);
    await store.close();
  });

  it.runIf(LONG)("checks a large blob outside the main thread, and an unchanged one only once", async () => {
    const path = nextFolder();
    const store = await openBlobStore(path, { maxBlobBytes: 2 ** 26, maxSessionBlobBytes: 2 ** 27 });
    const data = Buffer.alloc(32 * 1024 * 1024, "loom");
    const { blobId } = await store.put("s", [data], { mediaType: "a/b" });
    const checkOnce = process.threadCpuUsage();
    hash("sha256", data);
    const { user: checkMicros } = process.threadCpuUsage(checkOnce);
    const before = process.threadCpuUsage();
    for (let n = 0; n < 30; n++) {
      const { bytes } = await store.read("s", blobId, { start: n, end: n + 1 });
      expect((await new Response(bytes as ReadableStream<Uint8Array<ArrayBuffer>>).bytes()).length).toBe(1);
    }
    // Thirty checks in this thread would take thirty times as long as one.
    expect(process.threadCpuUsage(before).user).toBeLessThan(15 * checkMicros);
    const [session = ""] = (await readdir(path)).filter((each) => each !== "unfinished");
    await flipByte(join(path, session, blobId, "bytes"), 20_000_000);
    await expect(store.read("s", blobId, { start: 0, end: 1 })).rejects.toMatchObject({ code: "blob_damaged" });
    await store.close();
  });

  it("keeps only complete blobs when the writer is killed", async () => {
    const path = nextFolder();
    // Stores slowly growing blobs and prints the ID of each stored one.
    const program = `
      import { openBlobStore } from ${JSON.stringify(join(import.meta.dirname, "open-blob-store.ts"))};
      const store = await openBlobStore(${JSON.stringify(path)}, ${JSON.stringify(LIMITS)});
      async function* grow(n) { for (let i = 0; i < 20; i++) { yield new Uint8Array(1000).fill(n); await null; } }
      async function* hang() { yield new Uint8Array(1000); await new Promise((resolve) => setTimeout(resolve, 1e6)); }
      void store.put("s", hang(), { mediaType: "a/b" });
      for (let n = 0; n < 200; n++) process.stdout.write((await store.put("s", grow(n), { mediaType: "a/b" })).blobId + "\\n");
    `;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (output.split("\n").length > 5) child.kill("SIGKILL");
    });
    await once(child, "close");
    expect((await readdir(join(path, "unfinished"))).length).toBeGreaterThan(0);
    const store = await openBlobStore(path, LIMITS);
    expect(await readdir(join(path, "unfinished"))).toEqual([]);
    const found = await store.list("s");
    const printed = output.split("\n").filter((line) => line.length === 64);
    expect(printed.length).toBeGreaterThanOrEqual(5);
    expect(found.map(({ blobId }) => blobId)).toEqual(expect.arrayContaining(printed));
    for (const { blobId, bytes } of found) {
      const read = await store.read("s", blobId);
      expect(bytes).toBe(20_000);
      const whole = await new Response(read.bytes as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer();
      expect(whole.byteLength).toBe(20_000);
    }
  });

  it("removes abandoned uploads but not those in progress", async () => {
    const path = nextFolder();
    const store = await openBlobStore(path, LIMITS);
    const gate = Promise.withResolvers<void>();
    const slow = async function* (): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(3);
      await gate.promise;
    };
    const put = store.put("s", slow(), { mediaType: "a/b" });
    while ((await readdir(join(path, "unfinished"))).length === 0)
      await new Promise((resolve) => setImmediate(resolve));
    await openBlobStore(path, LIMITS);
    const [name = ""] = await readdir(join(path, "unfinished"));
    expect(name).not.toBe("");
    gate.resolve();
    expect(await put).toMatchObject({ bytes: 3 });
    const { mkdir } = await import("node:fs/promises");
    const old = join(path, "unfinished", "elsewhere~1~~1@x");
    await mkdir(old);
    await openBlobStore(path, LIMITS);
    expect(await readdir(join(path, "unfinished"))).toHaveLength(1);
    const longAgo = new Date(Date.now() - 25 * 60 * 60 * 1000);
    await utimes(old, longAgo, longAgo);
    await openBlobStore(path, LIMITS);
    expect(await readdir(join(path, "unfinished"))).toEqual([]);
  });
});
