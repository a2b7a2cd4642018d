import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { agent } from "../../agents/index.ts";
import { MemoryLog } from "../../log/index.ts";
import { createMemoryBlobStore } from "../blobs/create-memory-blob-store.ts";
import { openBlobStore } from "../blobs/open-blob-store.ts";
import type { LoomHandlerOptions } from "../handler-options.ts";
import { createLoomHandler } from "../loom-handler.ts";
import { startLoomServer } from "../loom-server.ts";

const HERE = "http://127.0.0.1:10338";
const BLOBS = "/v1/sessions/s%201/blobs";
const PNG = Buffer.from("89504e470d0a1a0a00", "hex");

function createOptions(options: Partial<LoomHandlerOptions> = {}): LoomHandlerOptions {
  const blobs = createMemoryBlobStore({ maxBlobBytes: 100_000, maxSessionBlobBytes: 150_000 });
  const limits = { maxBlobBytes: 100_000 };
  const agents = { main: agent({ provider: "offline" }) };
  return { log: new MemoryLog(), agents, blobs, limits, allowPublic: true, ...options };
}

function open(given: Partial<LoomHandlerOptions> = {}) {
  const options = createOptions(given);
  const handler = createLoomHandler(options);
  onTestFinished(() => handler.close({ graceMs: 0 }));
  const ask = (path: string, init?: RequestInit) => handler.fetch(new Request(HERE + path, init));
  const put = (body: BodyInit, headers: HeadersInit = {}, query = "") =>
    ask(BLOBS + query, { method: "POST", body, headers });
  const putJson = async (...given: Parameters<typeof put>) => {
    const response = await put(...given);
    expect(response.status).toBe(201);
    return (await response.json()) as { blob_id: string; url: string; name?: string; media_type: string };
  };
  return { ...options, ask, put, putJson };
}

const codeOf = async (response: Response): Promise<readonly unknown[]> => [
  response.status,
  ((await response.json()) as { code: unknown }).code,
];

describe("a blob", () => {
  it("is returned as it was uploaded, and its session is created", async () => {
    const { ask, put, log } = open({ basePath: "/agents" });
    const response = await put(PNG, { "content-type": "image/png" }, "?name=a%20b.png");
    const blob = (await response.json()) as { url: string; blob_id: string; created_at: number };
    expect([response.status, response.headers.get("location"), blob]).toEqual([
      201,
      blob.url,
      {
        blob_id: blob.blob_id,
        url: `/agents${BLOBS}/${createHash("sha256").update(PNG).digest("hex")}`,
        media_type: "image/png",
        name: "a b.png",
        bytes: 9,
        created_at: blob.created_at,
      },
    ]);
    expect(await log.getSession("s 1")).toBeDefined();
    const read = await ask(blob.url);
    expect(Buffer.from(await read.arrayBuffer()).equals(PNG)).toBe(true);
    expect(Object.fromEntries(read.headers)).toMatchObject({
      "content-type": "image/png",
      "content-length": "9",
      "content-disposition": "inline; filename*=UTF-8''a%20b.png",
      "x-content-type-options": "nosniff",
      "content-security-policy": expect.stringMatching(
        /^sandbox; default-src 'none'; frame-ancestors 'none';/,
      ) as string,
      "cross-origin-resource-policy": "same-origin",
      "cache-control": "private, no-cache",
    });
    expect(await (await ask("/agents" + BLOBS)).json()).toEqual({ blobs: [blob] });
  });

  it.each([
    ["text/html", "application/octet-stream", "attachment"],
    ["image/svg+xml", "application/octet-stream", "attachment"],
    ["application/pdf", "application/pdf", "attachment"],
    ["text/javascript", "application/octet-stream", "attachment"],
    ["text/plain; charset=utf-16", "text/plain; charset=utf-8", "inline"],
  ])("of type %s is served as %s", async (given, type, disposition) => {
    const { ask, putJson } = open();
    const { url } = await putJson("<script>", { "content-type": given });
    const { headers } = await ask(url);
    expect([headers.get("content-type"), headers.get("content-disposition")]).toEqual([type, disposition]);
  });

  it.each([
    [`attachment; filename="a \\"b\\".txt"`, `a "b".txt`],
    ["attachment; filename=x.txt; filename*=UTF-8''%E5%9B%BE.txt", "图.txt"],
    ["attachment; filename=../../x.txt", "x.txt"],
    ["attachment", undefined],
  ])("gets its name from %s", async (disposition, name) => {
    const { putJson } = open();
    expect((await putJson("x", { "content-disposition": disposition })).name).toBe(name);
  });

  it("supports ranges and conditional requests", async () => {
    const { ask, putJson } = open();
    const { url, blob_id } = await putJson("0123456789", { "content-type": "text/plain" });
    const get = async (headers: HeadersInit, method = "GET") => {
      const response = await ask(url, { method, headers });
      return [response.status, await response.text(), response.headers.get("content-range")];
    };
    const etag = `"${blob_id}"`;
    expect(await get({ range: "bytes=2-4" })).toEqual([206, "234", "bytes 2-4/10"]);
    expect(await get({ range: "bytes=7-" })).toEqual([206, "789", "bytes 7-9/10"]);
    expect(await get({ range: "bytes=-3", "if-range": etag })).toEqual([206, "789", "bytes 7-9/10"]);
    expect(await get({ range: "bytes=-30" })).toEqual([206, "0123456789", "bytes 0-9/10"]);
    expect(await get({ range: "bytes=2-99" })).toEqual([206, "23456789", "bytes 2-9/10"]);
    const beyond = [416, expect.stringContaining('"code":"invalid_arguments"'), "bytes */10"];
    for (const range of ["bytes=10-", "bytes=-0"]) expect(await get({ range })).toEqual(beyond);
    for (const range of ["bytes=4-2", "bytes=0-1,3-4", "lines=1-2", "bytes=-"])
      expect(await get({ range })).toEqual([200, "0123456789", null]);
    expect(await get({ range: "bytes=2-4", "if-range": '"other"' })).toEqual([200, "0123456789", null]);
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, "*"])
      expect(await get({ "if-none-match": known })).toEqual([304, "", null]);
    expect(await get({ "if-none-match": '"x"' })).toEqual([200, "0123456789", null]);
    expect(await get({}, "HEAD")).toEqual([200, "", null]);
    expect((await ask(url, { method: "HEAD" })).headers.get("content-length")).toBe("10");
  });

  it("is rejected with a specific error code", async () => {
    const { ask, put } = open();
    expect(await codeOf(await ask(`${BLOBS}/${"0".repeat(64)}`))).toEqual([404, "unknown_blob"]);
    expect(await codeOf(await ask(`${BLOBS}/..%2f..%2fetc`))).toEqual([404, "unknown_blob"]);
    expect(await codeOf(await put("x".repeat(100_001)))).toEqual([413, "blob_too_large"]);
    const { body } = new Response("x".repeat(100_001));
    const streamed = { method: "POST", body, duplex: "half" } as RequestInit;
    expect(await codeOf(await ask(BLOBS, streamed))).toEqual([413, "blob_too_large"]);
    expect((await put("a".repeat(100_000))).status).toBe(201);
    expect(await codeOf(await put("b".repeat(50_001)))).toEqual([507, "blobs_full"]);
    expect(await codeOf(await put("x", {}, `?name=${"n".repeat(300)}`))).toEqual([400, "invalid_name"]);
    expect(await codeOf(await put(new FormData()))).toEqual([400, "invalid_request"]);
    const without = open({ blobs: undefined });
    expect(await codeOf(await without.put("x"))).toEqual([404, "not_found"]);
    expect(await codeOf(await without.ask(BLOBS))).toEqual([404, "not_found"]);
  });

  it("is refused by its ID when it is damaged, and reported to the operator", async () => {
    const folder = mkdtempSync(join(tmpdir(), "loom-blobs-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const blobs = await openBlobStore(folder, { maxBlobBytes: 100_000, maxSessionBlobBytes: 150_000 });
    const reported: unknown[] = [];
    const { ask, put, putJson } = open({ blobs, onError: (error) => void reported.push(error) });
    const { url, blob_id } = await putJson("0123456789", { "content-type": "text/plain" });
    const [path = ""] = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith("bytes"),
    );
    writeFileSync(join(folder, path), "0123456780");
    for (const headers of [{}, { range: "bytes=0-3" }]) {
      const response = await ask(url, { headers });
      const problem = (await response.json()) as object;
      expect([response.status, problem]).toEqual([500, expect.objectContaining({ code: "blob_damaged" })]);
      expect(JSON.stringify(problem)).toContain(`Blob ${blob_id} is damaged`);
      expect(JSON.stringify(problem)).not.toContain(folder);
    }
    expect(reported).toHaveLength(2);
    const json = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    expect(await codeOf(await ask("/v1/sessions/s%201/fork", json))).toEqual([500, "blob_damaged"]);
    expect((await put("0123456789")).status).toBe(201);
    expect(await (await ask(url)).text()).toBe("0123456789");
  });

  it("is not stored if its session is deleted or recreated during the upload", async () => {
    for (const isRecreated of [false, true]) {
      const { ask, log } = open();
      const rest = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
        start: (controller) => controller.enqueue(Buffer.from("half")),
        async pull(controller) {
          begun.resolve();
          await rest.promise;
          controller.close();
        },
      });
      const answer = ask(BLOBS, { method: "POST", body, duplex: "half" } as RequestInit);
      await begun.promise;
      expect((await ask("/v1/sessions/s%201", { method: "DELETE" })).status).toBe(204);
      if (isRecreated) await log.createSession("s 1");
      rest.resolve();
      expect(await codeOf(await answer)).toEqual([404, "unknown_session"]);
      expect(await (await ask(BLOBS)).json()).toEqual({ blobs: [] });
    }
  });

  it("is rejected if the sender stops sending", async () => {
    const { ask, put } = open({ limits: { bodyTimeoutMs: 20 } });
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({ pull: () => new Promise(() => undefined) });
    const answer = await ask(BLOBS, { method: "POST", body, duplex: "half" } as RequestInit);
    expect(await codeOf(answer)).toEqual([408, "request_timeout"]);
    expect((await put("x")).status).toBe(201);
  });

  it("is transferred over a socket, and discarded if the sender disconnects", async () => {
    const options = createOptions();
    const server = await startLoomServer({ ...options, port: 0 });
    onTestFinished(() => server.close());
    const bytes = Buffer.alloc(90_000, "loom");
    const sent = await fetch(server.url + BLOBS, { method: "POST", body: bytes });
    const { url } = (await sent.json()) as { url: string };
    const read = await fetch(new URL(url, server.url), { headers: { range: "bytes=80000-" } });
    expect([read.status, (await read.arrayBuffer()).byteLength]).toEqual([206, 10_000]);
    const head = await fetch(new URL(url, server.url), { method: "HEAD" });
    expect(head.headers.get("content-length")).toBe("90000");
    const abort = new AbortController();
    const started = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new Uint8Array(10));
        started.resolve();
        return new Promise(() => undefined);
      },
    });
    const left = fetch(server.url + BLOBS, {
      method: "POST",
      body,
      duplex: "half",
      signal: abort.signal,
    } as RequestInit);
    await started.promise;
    abort.abort();
    await expect(left).rejects.toThrow("aborted");
    expect(await options.blobs?.list("s 1")).toHaveLength(1);
  });
});

describe("an attachment", () => {
  it("is stored by reference and visible to the model", async () => {
    const { ask, putJson } = open();
    const text = await putJson("Milk and eggs are to be bought.", { "content-type": "text/plain" }, "?name=list.txt");
    const image = await putJson(PNG, { "content-type": "image/png" }, "?name=cat.png");
    const run = async (message: string, attachments: readonly object[]) => {
      const response = await ask("/v1/sessions/s%201/runs", {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/x-ndjson" },
        body: JSON.stringify({ message, attachments }),
      });
      return { status: response.status, text: await response.text() };
    };
    const { text: stream } = await run("What is in these?", [{ blob_id: text.blob_id }, { blob_id: image.blob_id }]);
    expect(stream).toContain('"attachments":[{"blob_id":');
    expect(stream).not.toContain(PNG.toString("base64"));
    const last = stream.trimEnd().split("\n").at(-1) ?? "";
    expect(last).toContain("list.txt");
    expect(last).toContain("Milk and eggs");
    expect(last).toContain("cat.png");
    const alone = await run("", [{ blob_id: image.blob_id }]);
    expect(alone.text).toContain("I received the file “cat.png” (image/png, 9 bytes)");
    const missing = await run("Look.", [{ blob_id: "0".repeat(64) }]);
    expect([missing.status, missing.text]).toEqual([404, expect.stringContaining("unknown_blob")]);
  });
});
