// The knowledge base over HTTP. The fixture validates all responses against the OpenAPI document.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createServerFixture, type ServerFixtureOptions } from "../../../test/server/server-fixture.ts";
import { writePdf } from "../../../test/knowledge/write-pdf.ts";
import { agent } from "../../agents/index.ts";
import { type KnowledgeBase, type KnowledgeBaseOptions, openKnowledgeBase } from "../../context/index.ts";
import { MemoryLog } from "../../log/index.ts";
import { LoomError } from "../../protocol/index.ts";
import type { AddedDocument, DocumentText, KnowledgeDocuments, KnowledgeHits } from "../api/shapes.generated.ts";
import type { Action } from "../auth/scopes.ts";
import { createLoomHandler } from "../loom-handler.ts";

const TIDES = "# Tides\n\nThe moon pulls the sea, twice a day.\n";

async function open(options: ServerFixtureOptions = {}, base: KnowledgeBaseOptions = {}) {
  const knowledge = options.knowledge === undefined ? await openKnowledgeBase(":memory:", base) : undefined;
  onTestFinished(() => knowledge?.close());
  const fixture = await createServerFixture({ ...(knowledge === undefined ? {} : { knowledge }), ...options });
  const send = (name: string, body: BodyInit | null, headers: HeadersInit = {}, query = "") =>
    fixture.fetch(`/v1/knowledge?name=${encodeURIComponent(name)}${query}`, { method: "POST", body, headers });
  const add = async (...given: Parameters<typeof send>) => {
    const response = await send(...given);
    return [response.status, (await response.json()) as AddedDocument] as const;
  };
  const list = async (query = "") =>
    (await fixture.ask("GET", `/v1/knowledge${query}`)) as unknown as KnowledgeDocuments;
  const search = async (query: string) =>
    ((await fixture.ask("GET", `/v1/knowledge/search?${query}`)) as unknown as KnowledgeHits).hits;
  return { ...fixture, knowledge: knowledge as KnowledgeBase, send, add, list, search };
}

const codeOf = async (response: Response): Promise<readonly unknown[]> => [
  response.status,
  ((await response.json()) as { code: unknown }).code,
];

describe("the knowledge base over HTTP", () => {
  it("adds, finds, replaces and removes a document", async () => {
    const { add, list, search, ask } = await open();
    const [status, added] = await add("tides.md", TIDES);
    expect([status, added]).toMatchObject([
      201,
      {
        outcome: "added",
        document_id: "tides.md",
        name: "tides.md",
        title: "Tides",
        collection: "default",
        format: "markdown",
        bytes: TIDES.length,
        passages: 1,
      },
    ]);
    expect(await add("tides.md", TIDES)).toMatchObject([200, { outcome: "unchanged", passages: 1 }]);
    expect(await search("q=what+pulls+the+sea")).toMatchObject([
      { document_id: "tides.md", title: "Tides", first_line: 1, last_line: 3, headings: [] },
    ]);
    expect(await add("tides.md", "# Tides\n\nThe sun does too.")).toMatchObject([200, { outcome: "updated" }]);
    expect(await search("q=moon")).toEqual([]);
    await ask("DELETE", "/v1/knowledge/tides.md", undefined, { status: 204 });
    const { documents, totals, accepts, max_document_bytes } = await list();
    expect([documents, totals]).toEqual([[], { documents: 0, passages: 0, bytes: 0 }]);
    expect(accepts).toContain(".pdf");
    expect(max_document_bytes).toBe(10 * 1024 * 1024);
  });

  it("returns the text of a document in parts", async () => {
    const { add, ask, fetch } = await open({}, { maxChunkCharacters: 100, overlapCharacters: 0 });
    const text = Array.from({ length: 9 }, (_, index) => `Paragraph ${index} ${"of the text ".repeat(5)}.`).join(
      "\n\n",
    );
    await add("a b.md", text);
    const read = async (query: string) =>
      (await ask("GET", `/v1/knowledge/a%20b.md/text${query}`)) as unknown as DocumentText;
    const { parts, ...about } = await read("");
    expect(about).toMatchObject({ document_id: "a b.md", format: "markdown", passages: 9, from: 0 });
    expect(parts.map((part) => part.text).join("")).toBe(text);
    expect((await read("?from=2&limit=3")).parts).toEqual(parts.slice(2, 5));
    expect(await read(`?line=${parts[6]?.first_line}`)).toMatchObject({ from: 2, parts: parts.slice(2) });
    expect((await read("?from=9")).parts).toEqual([]);
    for (const query of ["?from=-1", "?limit=x", "?line=1.5"])
      expect(await codeOf(await fetch(`/v1/knowledge/a%20b.md/text${query}`))).toEqual([400, "invalid_request"]);
    expect(await codeOf(await fetch("/v1/knowledge/none/text"))).toEqual([404, "unknown_document"]);
  });

  it("lists pages ordered by id, with totals", async () => {
    const { add, list } = await open();
    for (const name of ["c.md", "a.md", "潮 汐.md", "b.txt"]) await add(name, `About ${name}`);
    await add("d.md", "Other", {}, "&collection=notes");
    const seen: string[] = [];
    let after: string | undefined = "";
    while (after !== undefined) {
      const page: KnowledgeDocuments = await list(`?limit=2&after=${encodeURIComponent(after)}`);
      seen.push(...page.documents.map(({ document_id: id }) => id));
      expect(page.totals.documents).toBe(5);
      after = page.next;
    }
    expect(seen).toEqual(["a.md", "b.txt", "c.md", "d.md", "潮 汐.md"]);
    const { documents, collections } = await list("?collection=notes");
    expect(documents.map(({ name }) => name)).toEqual(["d.md"]);
    expect(collections).toEqual([
      { name: "default", documents: 4 },
      { name: "notes", documents: 1 },
    ]);
  });

  it("detects the format by extension, then by media type", async () => {
    const { add, search } = await open();
    const gbk = Buffer.from(
      "d4c2c1c1cefcd2fdbaa3cbaea3accbf9d2d4c3bfccecc1bdb4ced5c7b3b1a1a3d5e2becdcac7b3b1cfabb5c4d4add2f2a3acb4f3bcd2b6bcd6aab5c0a1a3",
      "hex",
    );
    expect(await add("README", "Plain words", { "content-type": "text/plain; charset=utf-8" })).toMatchObject([
      201,
      { format: "text", title: "README" },
    ]);
    const html = "<title>Sea</title><p>Salt &amp; water<script>alert(1)</script>";
    expect(await add("sea.html", html, { "content-type": "text/plain" })).toMatchObject([
      201,
      { format: "html", title: "Sea" },
    ]);
    expect((await search("q=salt"))[0]?.content).toBe("Sea\n\nSalt & water");
    expect(await add("gbk.txt", gbk)).toMatchObject([201, { format: "text" }]);
    expect(await add("paper.pdf", new Uint8Array(writePdf("The whale is a mammal.")))).toMatchObject([
      201,
      { format: "pdf" },
    ]);
    expect((await search("q=whale&limit=1"))[0]?.name).toBe("paper.pdf");
    expect(await add("empty.md", null)).toMatchObject([201, { bytes: 0, passages: 0 }]);
  });

  it("rejects unreadable files and keeps the old document", async () => {
    const { add, send, search, fetch } = await open();
    await add("tides.md", TIDES);
    for (const [name, body, type] of [
      ["image.png", "x", "image/png"],
      ["program.exe", "x", "application/octet-stream"],
      ["tides.md", Uint8Array.of(0, 1, 2, 0, 255), "text/markdown"],
      ["broken.pdf", "no PDF", "application/pdf"],
    ] as const)
      expect(await codeOf(await send(name, body, { "content-type": type })), name).toEqual([
        422,
        "unreadable_document",
      ]);
    expect(await search("q=moon")).toHaveLength(1);
    for (const name of ["", " ", "..", "a/b.md", "/etc/x.md", "a\\b.md", "a\0.md", "a\n.md", "x".repeat(300)])
      expect(await codeOf(await send(name, "x")), name).toEqual([400, "invalid_name"]);
    expect(await codeOf(await fetch("/v1/knowledge", { method: "POST", body: "x" }))).toEqual([400, "invalid_request"]);
    const form = { "content-type": "multipart/form-data; boundary=x" };
    expect(await codeOf(await send("a.md", "x", form))).toEqual([400, "invalid_request"]);
  });

  it("limits the size of a document and the number of documents", async () => {
    const { send } = await open({ limits: { maxDocumentBytes: 1000 } }, { maxDocuments: 1 });
    const endless = new ReadableStream<Uint8Array>({ pull: (stream) => stream.enqueue(new Uint8Array(400).fill(65)) });
    const streamed = { method: "POST", body: endless, duplex: "half" } as RequestInit;
    const { fetch } = await open({ limits: { maxDocumentBytes: 1000 } });
    expect(await codeOf(await fetch("/v1/knowledge?name=a.md", streamed))).toEqual([413, "document_too_large"]);
    expect(await codeOf(await send("a.md", "x".repeat(1001), { "content-length": "1001" }))).toEqual([
      413,
      "document_too_large",
    ]);
    expect((await send("a.md", "x".repeat(1000))).status).toBe(201);
    expect(await codeOf(await send("b.md", "x"))).toEqual([507, "too_many_documents"]);
    expect((await send("a.md", "again")).status).toBe(200);
    const small = await open({}, { maxDocumentBytes: 10 });
    expect(await codeOf(await small.send("a.md", "x".repeat(11)))).toEqual([413, "document_too_large"]);
  });

  it("removes only the named document", async () => {
    const { knowledge, ask, list } = await open();
    for (const uri of ["/docs/a b.md", "/docs/b.md", "docs/c.md", "docs"]) await knowledge.addText({ uri, text: uri });
    const gone = (id: string) => ask("DELETE", `/v1/knowledge/${encodeURIComponent(id)}`, undefined, { status: 204 });
    await gone("docs");
    await gone("/docs/a b.md");
    expect((await list()).documents.map(({ document_id: id, name }) => [id, name])).toEqual([
      ["/docs/b.md", "b.md"],
      ["docs/c.md", "c.md"],
    ]);
    for (const id of ["docs", "/docs", "b.md", "search", "%"]) {
      const path = `/v1/knowledge/${encodeURIComponent(id)}`;
      const refusal = await ask("DELETE", path, undefined, { status: 404 });
      expect(refusal).toMatchObject({ code: "unknown_document", details: { document_id: id } });
    }
  });

  it("accepts any query and limits the number of hits", async () => {
    const { add, search, ask } = await open();
    for (let n = 0; n < 60; n++) await add(`${n}.md`, `# Sea ${n}\n\nThe sea.`);
    expect(await search("q=sea")).toHaveLength(10);
    expect(await search("q=sea&limit=3")).toHaveLength(3);
    expect(await search("q=sea&limit=1000")).toHaveLength(50);
    expect(await search("q=sea&limit=0")).toHaveLength(1);
    expect(await search("q=sea&collection=none")).toEqual([]);
    for (const q of ['"', "sea AND (", "*", "NEAR(", "'; DROP TABLE documents; --", "\0", ""])
      expect(Array.isArray(await search(`q=${encodeURIComponent(q)}`))).toBe(true);
    await ask("GET", "/v1/knowledge/search", undefined, { status: 400 });
  });

  it("reads a few uploads at once and queues the others", async () => {
    const { send, list } = await open();
    const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => send(`${n}.md`, `# ${n}`)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect((await list()).totals.documents).toBe(60);
    const many = await Promise.all(Array.from({ length: 80 }, (_, n) => send(`${n}.md`, `# More ${n}`)));
    const refused = many.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(80 - 64 - 4);
    expect(await codeOf(refused[0] as Response)).toEqual([429, "too_many_uploads"]);
  });

  it("rejects slow uploads, and large ones without waiting", async () => {
    const limits = { bodyTimeoutMs: 30, uploadTimeoutMs: 300, maxDocumentBytes: 1000 };
    const { fetch, send, list } = await open({ limits });
    const drip = () => {
      let timer: ReturnType<typeof setInterval> | undefined;
      const body = new ReadableStream<Uint8Array>({
        start: (stream) => void (timer = setInterval(() => stream.enqueue(Uint8Array.of(65)), 10)),
        cancel: () => clearInterval(timer),
      });
      onTestFinished(() => clearInterval(timer));
      return fetch("/v1/knowledge?name=drip.md", { method: "POST", body, duplex: "half" } as RequestInit);
    };
    const dripped = Array.from({ length: 4 }, drip);
    const waiting = send("a.md", "hello");
    const large = send("b.md", "x".repeat(1001), { "content-length": "1001" });
    const first = await Promise.race([large.then(() => "large"), waiting.then(() => "waiting")]);
    expect([first, (await large).status]).toEqual(["large", 413]);
    for (const response of await Promise.all(dripped)) expect(await codeOf(response)).toEqual([408, "request_timeout"]);
    expect((await waiting).status).toBe(201);
    expect((await list()).totals.documents).toBe(1);
  });

  it("checks permissions, and rejects uploads while it shuts down", async () => {
    const actions: Action[] = [];
    const { fetch, send } = await open({
      authorize({ action }) {
        actions.push(action);
        if (action === "knowledge.write") throw new LoomError("forbidden", "no");
      },
    });
    expect(await codeOf(await send("a.md", "x"))).toEqual([403, "forbidden"]);
    expect(await codeOf(await fetch("/v1/knowledge/a.md", { method: "DELETE" }))).toEqual([403, "forbidden"]);
    expect((await fetch("/v1/knowledge")).status).toBe(200);
    expect((await fetch("/v1/knowledge/search?q=x")).status).toBe(200);
    expect(actions).toEqual(["knowledge.write", "knowledge.write", "knowledge.read", "knowledge.read"]);
    await using knowledge = await openKnowledgeBase(":memory:");
    const agents = { main: agent({ provider: "offline" }) };
    const handler = createLoomHandler({ log: new MemoryLog(), agents, knowledge, allowPublic: true });
    await handler.close({ graceMs: 0 });
    const late = new Request("http://127.0.0.1/v1/knowledge?name=a.md", { method: "POST", body: "x" });
    expect(await codeOf(await handler.fetch(late))).toEqual([503, "shutting_down"]);
  });

  it("reports store errors without the file path", async () => {
    const folder = mkdtempSync(join(tmpdir(), "loom-kb-endpoint-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const base = await openKnowledgeBase(join(folder, "kb.db"));
    await base.close();
    const { fetch, send, reported } = await open({ knowledge: base });
    for (const response of [
      await send("a.md", "x"),
      await fetch("/v1/knowledge"),
      await fetch("/v1/knowledge/search?q=x"),
    ]) {
      const text = await response.text();
      expect([response.status, (JSON.parse(text) as { code: string }).code]).toEqual([503, "store_closed"]);
      expect(text).not.toContain(folder);
      expect(text).toMatch(/"id":"error-\d"/);
    }
    expect(reported).toHaveLength(3);
  });

  it("answers 404 if the server has no knowledge base", async () => {
    const { fetch } = await createServerFixture();
    for (const [method, path] of [
      ["GET", "/v1/knowledge"],
      ["GET", "/v1/knowledge/search?q=x"],
      ["POST", "/v1/knowledge?name=a.md"],
      ["DELETE", "/v1/knowledge/a.md"],
    ] as const)
      expect(await codeOf(await fetch(path, { method })), method).toEqual([404, "not_found"]);
    expect(() => createLoomHandler({ knowledge: {} } as never)).toThrow("`knowledge` must be a knowledge base");
  });
});
