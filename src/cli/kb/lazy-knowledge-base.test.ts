import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { LoomError } from "../../protocol/index.ts";
import type { KnowledgeChoice } from "./default-knowledge-base.ts";
import { LazyKnowledgeBase } from "./lazy-knowledge-base.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-lazy-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
const newChoice = (): KnowledgeChoice => ({ file: join(folder, `${count++}.db`), isNamed: false });
const options = { limit: 3, signal: new AbortController().signal };

describe("LazyKnowledgeBase", () => {
  it("opens the file at the first search", async () => {
    const choice = newChoice();
    await using base = new LazyKnowledgeBase(choice, () => undefined);
    expect(existsSync(choice.file)).toBe(false);
    const [hit] = await base.retrieve("如何部署应用", options);
    expect(hit?.title).toBe("部署指南");
    expect(await base.search("部署", { ...options, collection: "none" })).toEqual([]);
  });

  it("creates the file with the first document, with the configured size limit", async () => {
    const choice = { ...newChoice(), limits: { maxDocumentBytes: 20_000 } };
    await using base = new LazyKnowledgeBase(choice, () => undefined);
    const bytes = new TextEncoder().encode("# Tides\n\nThe moon pulls the sea.");
    expect(await base.addBytes({ uri: "tides.md", bytes })).toMatchObject({ outcome: "added" });
    const { documents } = await base.stats();
    expect(documents).toBeGreaterThan(1);
    expect((await base.list({ after: "tides" })).map(({ uri }) => uri)).toEqual(["tides.md"]);
    const long = base.addBytes({ uri: "long.md", bytes: new Uint8Array(20_001).fill(65) });
    await expect(long).rejects.toMatchObject({ code: "document_too_large" });
    expect(await base.removeDocument("tides.md")).toBe(true);
    expect(await base.removeDocument("tides.md")).toBe(false);
  });

  it("creates a named file that may be missing, without the handbook", async () => {
    await using base = new LazyKnowledgeBase({ ...newChoice(), isNamed: true, mayBeMissing: true }, () => undefined);
    expect(await base.list()).toEqual([]);
    await using other = new LazyKnowledgeBase({ ...newChoice(), isNamed: true }, () => undefined);
    await expect(other.list()).rejects.toThrow("no knowledge base");
  });

  it("reports an open error once, and retries at the next request", async () => {
    const onFailure = vi.fn<(error: unknown) => void>();
    const choice = newChoice();
    mkdirSync(choice.file);
    await using base = new LazyKnowledgeBase(choice, onFailure);
    for (let n = 0; n < 2; n++) await expect(base.retrieve("x", options)).rejects.toBeInstanceOf(LoomError);
    expect(onFailure).toHaveBeenCalledTimes(1);
    rmSync(choice.file, { recursive: true });
    expect(await base.retrieve("Loom", options)).not.toEqual([]);
  });
});
