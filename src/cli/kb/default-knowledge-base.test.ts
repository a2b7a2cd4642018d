import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import {
  assertKnowledgeBaseExists,
  chooseKnowledgeBase,
  HANDBOOK,
  type KnowledgeChoice,
  openForWriting,
  refreshHandbook,
} from "./default-knowledge-base.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-kb-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
const newChoice = (): KnowledgeChoice => ({ file: join(folder, `${count++}.db`), isNamed: false });

describe("the default knowledge base", () => {
  it.each([
    [{ LOOM_STORE: "/a/b.db" }, "/a/knowledge.db"],
    [{ XDG_DATA_HOME: "/data", LOOM_STORE: " " }, "/data/loom/knowledge.db"],
    [{ LOOM_KB: "/k.db", LOOM_STORE: "/a/b.db" }, "/k.db"],
  ])("is found from the environment: %o", (env, file) => {
    expect(chooseKnowledgeBase(undefined, env)).toEqual({ file, isNamed: false });
    expect(chooseKnowledgeBase("x.db", env)).toEqual({ file: "x.db", isNamed: true });
  });

  it("contains the handbook in both languages and reindexes only changed pages", async () => {
    const choice = newChoice();
    const first = await openForWriting(choice);
    const before = await first.list({ collection: HANDBOOK });
    expect(before.filter(({ uri }) => uri.startsWith("handbook/en/"))).toHaveLength(before.length / 2);
    // A page of an older package, and a page that has changed.
    await first.addText({ uri: "handbook/en/gone.md", text: "# Gone", collection: HANDBOOK });
    await first.setNote("handbook pages", `${await first.getNote("handbook pages")}\nhandbook/en/gone.md`);
    await first.addText({ uri: "handbook/en/observe.md", text: "# Old", collection: HANDBOOK });
    await first.close();
    await using second = await openForWriting(choice);
    const after = await second.list({ collection: HANDBOOK });
    expect(after.map(({ uri, title, bytes }) => [uri, title, bytes])).toEqual(
      before.map(({ uri, title, bytes }) => [uri, title, bytes]),
    );
    const untouched = after.filter(({ indexedAt }, index) => indexedAt === before[index]?.indexedAt);
    expect(untouched.length).toBeGreaterThanOrEqual(before.length - 1);
  });

  it("does not restore a removed handbook, and adds nothing to a named knowledge base", async () => {
    const choice = newChoice();
    const first = await openForWriting(choice);
    expect(await first.remove(HANDBOOK)).toBeGreaterThan(10);
    await first.close();
    await using second = await openForWriting(choice);
    expect(await second.list()).toEqual([]);
    await using named = await openForWriting({ ...newChoice(), isNamed: true });
    expect(await named.list()).toEqual([]);
  });

  it("keeps documents that the user added to the handbook collection", async () => {
    const choice = newChoice();
    const first = await openForWriting(choice);
    const path = join(folder, `mine-${Date.now()}.md`);
    writeFileSync(path, "# Mine");
    await first.add(path, { collection: HANDBOOK });
    await first.addText({ uri: "handbook/mine", text: "# Mine too", collection: HANDBOOK });
    await first.close();
    await using second = await openForWriting(choice);
    expect(await second.get(path)).toMatchObject({ collection: HANDBOOK });
    expect(await second.get("handbook/mine")).toMatchObject({ collection: HANDBOOK });
  });

  it.each([
    ["both languages missing", []],
    ["one language missing", ["en"]],
  ])("removes nothing if the handbook cannot be read: %s", async (_, there) => {
    await using base = await openForWriting(newChoice());
    const before = await base.list();
    const note = await base.getNote("handbook pages");
    const place = join(folder, `half-${there.length}`);
    for (const language of there) mkdirSync(join(place, language), { recursive: true });
    await refreshHandbook(base, { folder: pathToFileURL(`${place}/`) });
    expect(await base.list()).toEqual(before);
    expect(await base.getNote("handbook pages")).toBe(note);
  });

  it.skipIf(process.platform === "win32")("is readable by its owner only, including new folders", async () => {
    const file = join(folder, "private", "deep", "kb.db");
    await using base = await openForWriting({ file, isNamed: true });
    await base.addText({ uri: "x", text: "x" });
    const made = [file, `${file}-wal`, `${file}-shm`, dirname(file), dirname(dirname(file))];
    for (const path of made) expect(statSync(path).mode & 0o077).toBe(0);
  });

  it("does not restore a removed page, and completes an interrupted import", async () => {
    const choice = newChoice();
    // An interrupted first import: a document of the user and one handbook page.
    const half = await openForWriting({ ...choice, isNamed: true });
    await half.addText({ uri: "mine", text: "# Mine" });
    await half.addText({ uri: "handbook/en/agents.md", text: "# Half", collection: HANDBOOK });
    await half.close();
    await expect(openForWriting(choice, { signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
    const first = await openForWriting(choice);
    const all = await first.list({ collection: HANDBOOK });
    expect(all.length).toBeGreaterThan(10);
    expect(await first.remove("handbook/en/observe.md")).toBe(1);
    await first.close();
    await using second = await openForWriting(choice);
    const left = (await second.list()).map(({ uri }) => uri);
    expect(left).toEqual([...all.map(({ uri }) => uri).filter((uri) => !uri.endsWith("/en/observe.md")), "mine"]);
  });

  it.each([
    ["not a database", () => "This is not a database.".repeat(100), "is damaged or not a knowledge base"],
    ["a folder", () => undefined, "cannot be opened"],
  ])("names the file and a solution in errors: %s", async (_, write, words) => {
    const choice = newChoice();
    const text = write();
    if (text === undefined) mkdirSync(choice.file);
    else writeFileSync(choice.file, text);
    const failure = await openForWriting(choice).then(String, String);
    expect(failure).toContain(`The knowledge base \`${choice.file}\` ${words}`);
    expect(failure).toContain("--kb FILE");
    expect(failure).not.toMatch(/not a database|unable to open|EISDIR/);
  });

  it("rejects a file of an older version without changing it", async () => {
    const choice = newChoice();
    await (await openForWriting(choice)).close();
    const db = new DatabaseSync(choice.file);
    db.exec("PRAGMA user_version = 1");
    db.close();
    const failure = await openForWriting(choice).then(String, String);
    expect(failure).toContain(`\`${choice.file}\` was created by an older version of Loom; move it away`);
  });

  it("rejects a missing file that was named", () => {
    const file = join(folder, "is missing");
    expect(() => assertKnowledgeBaseExists({ file, isNamed: true })).toThrow(
      expect.objectContaining({
        message: expect.stringContaining("no knowledge base") as string,
        hint: `create it with \`loom kb add --kb '${file}' PATH\``,
      }),
    );
    expect(() => assertKnowledgeBaseExists({ file: join(folder, "missing"), isNamed: false })).not.toThrow();
    expect(() =>
      assertKnowledgeBaseExists({ file: join(folder, "missing"), isNamed: true, mayBeMissing: true }),
    ).not.toThrow();
  });
});
