// Tests that a knowledge base must pass with every store.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { KnowledgeBaseOptions } from "../../src/context/knowledge-base/knowledge-base-options.ts";
import type { KnowledgeBase } from "../../src/context/knowledge-base/knowledge-base.ts";
import { testReading } from "./read-passages.ts";

/** `open` opens a new, empty base. `bases` is the number of those of the property test, `files` of an import. */
export function testKnowledgeBase(
  open: (options?: KnowledgeBaseOptions) => Promise<KnowledgeBase>,
  { bases, files }: { readonly bases: number; readonly files: number },
): void {
  let folder: string;
  let base: KnowledgeBase;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "loom-kb-"));
    base = await open();
  });
  afterEach(async () => {
    await base.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Creates a file in the folder, with an old modification time by default. */
  function write(name: string, text: string | Uint8Array, date = new Date(2020, 1, 1)): string {
    const path = join(folder, name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, text);
    utimesSync(path, date, date);
    return path;
  }

  const urisOf = async (query: string, collection?: string): Promise<string[]> =>
    (await base.search(query, collection === undefined ? {} : { collection })).map(({ uri }) => uri);

  testReading(open);

  describe("add", () => {
    it("imports a folder, reports progress and finds its documents", async () => {
      write("a.md", "# Otters\nOtters hold hands.");
      write("deep/er/b.txt", "Badgers dig.");
      write("c.html", "<title>Foxes</title><h1>Foxes</h1><p>Foxes bark.</p>");
      write("picture.png", Buffer.from([1, 0, 2]));
      write(".hidden/x.md", "hedgehog");
      write("node_modules/x.md", "hedgehog");
      const progress: [number, number][] = [];
      const report = await base.add(folder, { onProgress: (done, total) => progress.push([done, total]) });
      expect(report).toEqual({
        added: 3,
        updated: 0,
        unchanged: 0,
        removed: 0,
        skipped: 1,
        failed: [],
        failedCount: 0,
      });
      expect(progress).toEqual([
        [1, 3],
        [2, 3],
        [3, 3],
      ]);
      expect(await base.search("otter")).toMatchObject([
        { title: "Otters", uri: join(folder, "a.md"), firstLine: 1, lastLine: 2, collection: "default" },
      ]);
      expect(await base.search("badger")).toMatchObject([{ title: "b" }]);
      expect(await base.search("fox")).toMatchObject([{ title: "Foxes" }]);
      expect(await base.search("hedgehog")).toEqual([]);
    });

    it("reads only changed files again and removes missing ones", async () => {
      const same = write("same.md", "one");
      const touched = write("touched.md", "two");
      const changed = write("changed.md", "three");
      const gone = write("gone.md", "four");
      await base.add(folder);
      utimesSync(touched, new Date(2021, 1, 1), new Date(2021, 1, 1));
      write("changed.md", "seven", new Date(2021, 1, 1));
      rmSync(gone);
      const before = await base.get(same);
      expect(await base.add(folder)).toMatchObject({ added: 0, updated: 1, unchanged: 2, removed: 1 });
      expect(await base.get(same)).toEqual(before);
      expect(await urisOf("three")).toEqual([]);
      expect(await urisOf("four")).toEqual([]);
      expect(await urisOf("seven")).toEqual([changed]);
      expect(await base.stats()).toMatchObject({ documents: 3, chunks: 3 });
    });

    it("does not trust the modification time of a file that was just written", async () => {
      const now = new Date();
      const path = write("a.md", "walnut", now);
      await base.add(path);
      write("a.md", "pecans", now);
      expect(await base.add(path)).toMatchObject({ updated: 1 });
      expect(await urisOf("pecan")).toEqual([path]);
    });

    it("keeps missing documents if `prune` is false, and documents outside the folder", async () => {
      const gone = write("docs/gone.md", "quince");
      write("docs/there.md", "apple");
      const beside = write("docs-other/x.md", "quince");
      await base.add(folder);
      rmSync(gone);
      await base.add(join(folder, "docs"), { prune: false });
      expect((await urisOf("quince")).toSorted()).toEqual([beside, gone]);
      await base.add(join(folder, "docs"));
      expect(await urisOf("quince")).toEqual([beside]);
    });

    it("reports files that cannot be read and continues", async () => {
      base = await open({ maxDocumentBytes: 100 });
      write("a.md", "x".repeat(101));
      write("b.md", Buffer.from([0x61, 0, 0, 0, 0x62]));
      write("c.pdf", "no pdf");
      write("d.md", Buffer.from("caf\xe9 \xff\xfe\xfd\xfc", "latin1"));
      write("e.md", "fine");
      const report = await base.add(folder);
      expect(report).toMatchObject({ added: 1, failedCount: 4 });
      expect(report.failed.map(({ code }) => code)).toEqual([
        "document_too_large",
        "unreadable_document",
        "unreadable_document",
        "unreadable_document",
      ]);
      for (const { message } of report.failed) expect(message).toMatch(/^The (?:file|PDF) /);
    });

    it("reports folders that are too deep and too many files, and removes nothing then", async () => {
      write("a.md", "kiwi");
      write("1/2/3/b.md", "kiwi");
      await base.add(folder);
      rmSync(join(folder, "a.md"));
      const shallow = await open({ maxDepth: 1 });
      expect(await shallow.add(folder)).toMatchObject({ failed: [{ code: "too_many_documents" }] });
      write("c.md", "kiwi");
      write("d.md", "kiwi");
      const narrow = await open({ maxFiles: 1, maxDocuments: 1 });
      expect(await narrow.add(folder)).toMatchObject({ added: 1, failed: [{ code: "too_many_documents" }] });
      expect(await narrow.add(join(folder, "d.md"))).toMatchObject({
        added: 0,
        failed: [{ code: "too_many_documents" }],
      });
      await expect(narrow.addText({ uri: "x", text: "x" })).rejects.toMatchObject({ code: "too_many_documents" });
    });

    it("follows links within the folder, imports each file once, and ignores links that lead out", async () => {
      const real = write("in/a/x.md", "plum");
      write("secret", "plum stone");
      write("out/y.md", "plum stone");
      const link = (to: string, name: string): void => symlinkSync(join(folder, to), join(folder, "in", name));
      link("in/a", "a/again");
      link("in/nowhere", "b.md");
      link("in/a", "0-latest");
      link("in/a/x.md", "0.md");
      link("secret", "c.md");
      link("out", "d");
      expect(await base.add(join(folder, "in"))).toMatchObject({ added: 1, skipped: 3, failedCount: 0 });
      expect(await urisOf("plum")).toEqual([real]);
      // A folder that is itself a link is resolved.
      symlinkSync(join(folder, "out"), join(folder, "way"));
      expect(await base.add(join(folder, "way"))).toMatchObject({ added: 1 });
    });

    it("rejects pipes without waiting", async () => {
      spawnSync("mkfifo", [join(folder, "pipe.md")]);
      expect(await base.add(folder)).toMatchObject({ skipped: 1, failedCount: 0 });
      for (const path of [join(folder, "pipe.md"), "/dev/zero"])
        expect(await base.add(path)).toMatchObject({ failed: [{ code: "unreadable_document" }] });
    });

    it("does not prune documents added by themselves or by another folder", async () => {
      await base.addText({ uri: join(folder, "virtual"), text: "quokka" });
      await base.add(write("notes.conf", "quokka"));
      write(".github/c.md", "quokka");
      await base.add(join(folder, ".github"));
      const kept = write("sub/s.md", "quokka");
      const gone = write("sub/gone.md", "quokka");
      await base.add(join(folder, "sub"), { collection: "private" });
      rmSync(gone);
      rmSync(join(folder, "notes.conf"));
      // No import of this folder has found it.
      expect(await base.add(folder)).toMatchObject({ added: 0, unchanged: 1, removed: 0 });
      expect(await base.get(kept)).toMatchObject({ collection: "private" });
      expect((await base.list()).length).toBe(5);
      // Now one has.
      rmSync(kept);
      await base.add(join(folder, ".github"));
      expect(await base.add(folder)).toMatchObject({ removed: 1 });
      expect(await base.get(kept)).toBe(undefined);
      expect(await base.add(write("sub/s.md", "quokka"), { collection: "public" })).toMatchObject({ added: 1 });
    });

    it.each([
      ["too large", "x".repeat(101)],
      ["no text", Buffer.from([0x61, 0, 0, 0, 0x62])],
    ])("removes the document of a file that is now %s", async (_, content) => {
      base = await open({ maxDocumentBytes: 100 });
      const path = write("a.md", "kiwi");
      await base.add(folder);
      write("a.md", content);
      expect(await base.add(folder)).toMatchObject({ removed: 1, failedCount: 1, failed: [{ path }] });
      expect(await urisOf("kiwi")).toEqual([]);
      expect(await base.add(folder)).toMatchObject({ removed: 0, failedCount: 1 });
    });

    it("detects a change that keeps size and modification time", async () => {
      const path = write("a.md", "kiwi");
      await base.add(path);
      write("a.md", "lime");
      expect(await base.add(path)).toMatchObject({ updated: 1 });
      expect(await urisOf("lime")).toEqual([path]);
    });

    it("stops when aborted and keeps what was written", async () => {
      for (let at = 0; at < files; at++) write(`${`${at}`.padStart(3, "0")}.md`, "cherry");
      const stop = new AbortController();
      const adding = base.add(folder, {
        signal: stop.signal,
        onProgress: (done) => done === files / 2 && stop.abort(),
      });
      await expect(adding).rejects.toMatchObject({ name: "AbortError" });
      const { documents, chunks } = await base.stats();
      expect(documents).toBe(chunks);
      expect(documents).toBeGreaterThanOrEqual(files / 2);
      expect(documents).toBeLessThan(files);
      expect(await base.add(folder)).toMatchObject({ added: files - documents, unchanged: documents });
    });

    it("writes a long document in parts, completely or not at all", async () => {
      const text = Array.from({ length: 1000 }, (_, at) => `## Part ${at}\n\n${"word ".repeat(120)}mark${at}`).join(
        "\n\n",
      );
      const path = write("long.md", text);
      const stop = new AbortController();
      let turns = 0;
      const reason = new Error("a timeout of the caller");
      const ticker = setInterval(() => ++turns === 3 && stop.abort(reason), 0);
      await expect(base.add(path, { signal: stop.signal })).rejects.toBe(reason);
      clearInterval(ticker);
      expect(await base.stats()).toMatchObject({ documents: 0, chunks: 0, bytes: 0 });
      expect(await base.add(path)).toMatchObject({ added: 1 });
      expect(await base.search("mark999")).toMatchObject([{ uri: path, headings: ["Part 999"] }]);
      expect(await base.add(path)).toMatchObject({ unchanged: 1 });
    });

    it("finds the old version of a long document until the new one is complete, and never both", async () => {
      const repeat = (word: string): string => `# Part\n\n${word} ${"text ".repeat(200)}\n\n`.repeat(400);
      await base.addText({ uri: "long", text: repeat("walnut") });
      const before = await base.stats();
      const seen = new Set<string>();
      const look = async (): Promise<void> => {
        // One search, because two may see different versions.
        const hits = await base.search("walnut pecan");
        const words = hits.flatMap(({ content }) => /walnut|pecan/.exec(content) ?? []);
        seen.add([...new Set(words)].join(" and "));
      };
      const watch = async (signal?: AbortSignal): Promise<unknown> => {
        const state = { isDone: false };
        const adding = base
          .addText({ uri: "long", text: repeat("pecan"), ...(signal === undefined ? {} : { signal }) })
          .finally(() => (state.isDone = true));
        adding.catch(() => undefined);
        while (!state.isDone) {
          await look();
          await new Promise((resolve) => setImmediate(resolve));
        }
        return adding;
      };
      const stop = new AbortController();
      let turns = 0;
      const ticker = setInterval(() => ++turns === 4 && stop.abort(), 0);
      await expect(watch(stop.signal)).rejects.toThrow("abort");
      clearInterval(ticker);
      expect([...seen]).toEqual(["walnut"]);
      expect(await base.stats()).toEqual(before);
      expect(await watch()).toBe("updated");
      await look();
      expect([...seen]).toEqual(["walnut", "pecan"]);
      expect(await base.stats()).toMatchObject({ documents: 1, chunks: before.chunks });
    });

    it("throws if the path does not exist", async () => {
      await expect(base.add(join(folder, "none"))).rejects.toMatchObject({ code: "unreadable_document" });
    });

    it("adds texts", async () => {
      const text = "# Storks\n\nStorks clatter.";
      expect(await base.addText({ uri: "https://example.org/a", text })).toBe("added");
      expect(await base.addText({ uri: "https://example.org/a", text })).toBe("unchanged");
      expect(await base.addText({ uri: "https://example.org/a", text, title: "Birds" })).toBe("updated");
      expect(await base.get("https://example.org/a")).toMatchObject({ title: "Birds", format: "markdown", chunks: 1 });
      for (const uri of ["", "a\0b", "x".repeat(1001)])
        await expect(base.addText({ uri, text })).rejects.toMatchObject({ code: "invalid_name" });
    });
  });

  describe("an uploaded file", () => {
    const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

    it("is read like a file on disk and replaces the previous version", async () => {
      const added = await base.addBytes({ uri: "storks.md", bytes: encode("# Storks\n\nStorks clatter.") });
      expect(added).toEqual({ outcome: "added", document: await base.get("storks.md") });
      expect(added.document).toMatchObject({ title: "Storks", format: "markdown", collection: "default", chunks: 1 });
      const again = await base.addBytes({ uri: "storks.md", bytes: encode("# Storks\n\nStorks clatter.") });
      expect(again).toEqual({ ...added, outcome: "unchanged" });
      const moved = await base.addBytes({ uri: "storks.md", bytes: encode("Storks nest."), collection: "birds" });
      expect(moved).toMatchObject({ outcome: "updated", document: { collection: "birds" } });
      expect(await urisOf("clatter")).toEqual([]);
      // It keeps its collection.
      const third = await base.addBytes({ uri: "storks.md", bytes: encode("Storks fly."), format: "text" });
      expect(third.document).toMatchObject({ collection: "birds", format: "text" });
      // The same bytes in another format.
      const fourth = await base.addBytes({ uri: "storks.md", bytes: encode("Storks fly."), format: "html" });
      expect(fourth).toMatchObject({ outcome: "updated", document: { format: "html" } });
      expect(await base.stats()).toMatchObject({ documents: 1 });
    });

    it("changes nothing if it cannot be read", async () => {
      await base.addBytes({ uri: "storks.md", bytes: encode("Storks clatter.") });
      for (const [uri, bytes, code] of [
        ["storks.md", Uint8Array.of(0, 1, 2, 0, 255), "unreadable_document"],
        ["storks.png", encode("x"), "unreadable_document"],
        ["", encode("x"), "invalid_name"],
      ] as const)
        await expect(base.addBytes({ uri, bytes })).rejects.toMatchObject({ code });
      await using narrow = await open({ maxDocumentBytes: 3 });
      await expect(narrow.addBytes({ uri: "a.md", bytes: encode("four") })).rejects.toMatchObject({
        code: "document_too_large",
      });
      const signal = AbortSignal.abort();
      await expect(base.addBytes({ uri: "b.md", bytes: encode("# x\n".repeat(10_000)), signal })).rejects.toThrow(
        /abort/i,
      );
      expect(await urisOf("clatter")).toEqual(["storks.md"]);
      expect(await base.stats()).toMatchObject({ documents: 1 });
    });

    it("is removed by its exact uri, without documents below it", async () => {
      for (const uri of ["a", "a/1.md", "ab"]) await base.addText({ uri, text: "heron" });
      expect(await base.removeDocument("a")).toBe(true);
      expect(await base.removeDocument("a")).toBe(false);
      expect((await base.list()).map(({ uri }) => uri)).toEqual(["a/1.md", "ab"]);
    });
  });

  describe("collections, list and remove", () => {
    beforeEach(async () => {
      await base.addText({ uri: "a/1", text: "heron", collection: "birds" });
      await base.addText({ uri: "a/2", text: "heron song", collection: "songs" });
      await base.addText({ uri: "ab", text: "heron", collection: "birds" });
    });

    it("searches one collection or all", async () => {
      expect((await urisOf("heron")).toSorted()).toEqual(["a/1", "a/2", "ab"]);
      expect(await urisOf("heron", "songs")).toEqual(["a/2"]);
      expect(await urisOf("heron", "none")).toEqual([]);
      // The name of a collection is not a search term.
      expect(await urisOf("birds")).toEqual([]);
    });

    it("moves a document to another collection", async () => {
      expect(await base.addText({ uri: "a/1", text: "heron", collection: "songs" })).toBe("updated");
      expect((await base.stats()).collections).toEqual([
        { name: "birds", documents: 1 },
        { name: "songs", documents: 2 },
      ]);
      expect(await urisOf("heron", "birds")).toEqual(["ab"]);
    });

    it("lists in pages", async () => {
      const first = await base.list({ limit: 2 });
      expect(first.map(({ uri }) => uri)).toEqual(["a/1", "a/2"]);
      expect((await base.list({ after: "a/2" })).map(({ uri }) => uri)).toEqual(["ab"]);
      expect((await base.list({ collection: "birds" })).map(({ uri }) => uri)).toEqual(["a/1", "ab"]);
      expect(await base.list({ collection: "none" })).toEqual([]);
    });

    it("removes a document with everything below it, long ones in parts", async () => {
      await base.addText({ uri: "a", text: "# Part\n\nheron\n\n".repeat(1000) });
      expect(await base.remove("a")).toBe(3);
      expect(await urisOf("heron")).toEqual(["ab"]);
      expect(await base.stats()).toMatchObject({ documents: 1, chunks: 1 });
    });

    it("names invalid arguments", async () => {
      const wrong = (value: unknown): never => value as never;
      const calls = [
        () => base.list({ limit: Number.NaN }),
        () => base.list({ limit: wrong("3") }),
        () => base.search("x", { limit: Number.NaN }),
        () => base.search(wrong(undefined)),
        () => base.get(wrong(5)),
        () => base.remove(wrong(null)),
        () => base.add(wrong(undefined)),
        () => base.addText(wrong({ uri: "x" })),
        () => base.addText({ uri: "x", text: "x", format: wrong("pdf") }),
      ];
      for (const call of calls) await expect(call(), String(call)).rejects.toMatchObject({ code: "invalid_arguments" });
      expect(await base.list({ limit: -1 })).toEqual([]);
      expect(await base.search("heron", { limit: 1.5 })).toHaveLength(1);
    });

    it("removes a document or a folder, but no sibling", async () => {
      expect(await base.remove("a")).toBe(2);
      expect(await urisOf("heron")).toEqual(["ab"]);
      expect(await base.remove("ab")).toBe(1);
      expect(await base.remove("ab")).toBe(0);
      expect(await base.remove("")).toBe(0);
      expect(await base.stats()).toEqual({ documents: 0, chunks: 0, bytes: 0, collections: [] });
    });
  });

  describe("search", () => {
    it("accepts any text as a query", async () => {
      await base.addText({ uri: "x", text: "alpha beta: NEAR the (gamma) AND delta*" });
      const strange = [
        '"',
        "NEAR(a b)",
        "a AND",
        "title:",
        "*",
        "",
        " ",
        "(",
        "💥🚀",
        "-",
        "'; DROP TABLE terms",
        "a\0b",
      ];
      for (const query of strange) expect(Array.isArray(await base.search(query))).toBe(true);
      expect(await urisOf('gamma"')).toEqual(["x"]);
      expect(await urisOf("NEAR")).toEqual(["x"]);
      const long = "lorem ipsum ".repeat(900);
      expect(await base.search(long)).toEqual([]);
      expect(await urisOf(`gamma ${long}`)).toEqual(["x"]);
      expect(await base.search("the")).toHaveLength(1);
    });

    it("respects its limits", async () => {
      for (let at = 0; at < 60; at++)
        await base.addText({
          uri: `${at}`,
          text: `# T${at}\n\nplover ${at}\n\n# U\n\n${"plover ".repeat(90)}\n\n# V\n\n${"plover ".repeat(90)}`,
        });
      expect(await base.search("plover", { limit: 1000 })).toHaveLength(50);
      expect(await base.search("plover", { limit: 0 })).toEqual([]);
      const hits = await base.search("plover", { limit: 50 });
      for (const { uri } of hits) expect(hits.filter((hit) => hit.uri === uri).length).toBeLessThanOrEqual(2);
      await expect(base.search("plover", { signal: AbortSignal.abort() })).rejects.toThrow("abort");
      expect(await base.retrieve("plover", { limit: 3, signal: new AbortController().signal })).toHaveLength(3);
    });

    it("finds Chinese words of any length at any position", async () => {
      await base.addText({ uri: "x", text: "我们在周末清洗旧单车，然后上油。" });
      for (const query of ["单车", "车", "油", "清洗旧单车", "周末", "上油", "旧单"])
        expect(await urisOf(query), query).toEqual(["x"]);
      expect(await urisOf("飞机")).toEqual([]);
      expect(await urisOf("的")).toEqual([]);
    });

    it("finds a rare word of any document until it is removed", async () => {
      const text = fc.string({ unit: "grapheme", maxLength: 300 });
      const word = fc.stringMatching(/^[a-z]{3,9}\d{3}$/);
      const chinese = fc.stringMatching(/^[\u4e00-\u9fff]{2,4}$/);
      await fc.assert(
        fc.asyncProperty(text, fc.oneof(word, chinese), text, text, async (before, rare, after, query) => {
          const one = await open();
          await one.addText({ uri: "a", text: `${before} ${rare} ${after}`, format: "text" });
          await one.addText({ uri: "b", text: "Something else.", format: "html" });
          expect((await one.search(rare))[0]?.uri).toBe("a");
          for (const { content, snippet, score, firstLine, lastLine } of await one.search(query, { limit: 50 })) {
            expect(content.isWellFormed() && snippet.isWellFormed()).toBe(true);
            expect(score > 0 && score <= 1 && firstLine <= lastLine).toBe(true);
          }
          await one.remove("a");
          expect(await one.search(rare)).toEqual([]);
          await one.close();
        }),
        { numRuns: bases },
      );
    });
  });
}
