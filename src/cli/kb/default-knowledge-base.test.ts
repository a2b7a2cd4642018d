import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import {
  assertThere,
  chooseKnowledgeBase,
  HANDBOOK,
  type KnowledgeChoice,
  openToWrite,
  refreshHandbook,
} from "./default-knowledge-base.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-kb-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
const newChoice = (): KnowledgeChoice => ({ file: join(folder, `${count++}.db`), isNamed: false });

describe("the knowledge base of the command line", () => {
  it.each([
    [{ LOOM_STORE: "/a/b.db" }, "/a/knowledge.db"],
    [{ XDG_DATA_HOME: "/data", LOOM_STORE: " " }, "/data/loom/knowledge.db"],
    [{ LOOM_KB: "/k.db", LOOM_STORE: "/a/b.db" }, "/k.db"],
  ])("is found by the environment: %o", (env, file) => {
    expect(chooseKnowledgeBase(undefined, env)).toEqual({ file, isNamed: false });
    expect(chooseKnowledgeBase("x.db", env)).toEqual({ file: "x.db", isNamed: true });
  });

  it("has the handbook in both languages, and indexes it again only where it changed", async () => {
    const choice = newChoice();
    const first = await openToWrite(choice);
    const before = await first.list({ collection: HANDBOOK });
    expect(before.filter(({ uri }) => uri.startsWith("handbook/en/"))).toHaveLength(before.length / 2);
    // A page of an older package, and one that has changed since.
    await first.addText({ uri: "handbook/en/gone.md", text: "# Gone", collection: HANDBOOK });
    await first.setNote("handbook pages", `${await first.getNote("handbook pages")}\nhandbook/en/gone.md`);
    await first.addText({ uri: "handbook/en/observe.md", text: "# Old", collection: HANDBOOK });
    await first.close();
    await using second = await openToWrite(choice);
    const after = await second.list({ collection: HANDBOOK });
    expect(after.map(({ uri, title, bytes }) => [uri, title, bytes])).toEqual(
      before.map(({ uri, title, bytes }) => [uri, title, bytes]),
    );
    const untouched = after.filter(({ indexedAt }, index) => indexedAt === before[index]?.indexedAt);
    expect(untouched.length).toBeGreaterThanOrEqual(before.length - 1);
  });

  it("does not bring back what was removed, nor put anything into a base that was named", async () => {
    const choice = newChoice();
    const first = await openToWrite(choice);
    expect(await first.remove(HANDBOOK)).toBeGreaterThan(10);
    await first.close();
    await using second = await openToWrite(choice);
    expect(await second.list()).toEqual([]);
    await using named = await openToWrite({ ...newChoice(), isNamed: true });
    expect(await named.list()).toEqual([]);
  });

  it("leaves documents alone that somebody has put into its collection", async () => {
    const choice = newChoice();
    const first = await openToWrite(choice);
    const path = join(folder, `mine-${Date.now()}.md`);
    writeFileSync(path, "# Mine");
    await first.add(path, { collection: HANDBOOK });
    await first.addText({ uri: "handbook/mine", text: "# Mine too", collection: HANDBOOK });
    await first.close();
    await using second = await openToWrite(choice);
    expect(await second.get(path)).toMatchObject({ collection: HANDBOOK });
    expect(await second.get("handbook/mine")).toMatchObject({ collection: HANDBOOK });
  });

  it.each([
    ["all of it", []],
    ["one language", ["en"]],
  ])("removes nothing where the handbook cannot be read: %s", async (_, there) => {
    await using base = await openToWrite(newChoice());
    const before = await base.list();
    const note = await base.getNote("handbook pages");
    const place = join(folder, `half-${there.length}`);
    for (const language of there) mkdirSync(join(place, language), { recursive: true });
    await refreshHandbook(base, { folder: pathToFileURL(`${place}/`) });
    expect(await base.list()).toEqual(before);
    expect(await base.getNote("handbook pages")).toBe(note);
  });

  it.skipIf(process.platform === "win32")("is its owner's alone, and so is a folder that is made for it", async () => {
    const file = join(folder, "private", "deep", "kb.db");
    await using base = await openToWrite({ file, isNamed: true });
    await base.addText({ uri: "x", text: "x" });
    const made = [file, `${file}-wal`, `${file}-shm`, dirname(file), dirname(dirname(file))];
    for (const path of made) expect(statSync(path).mode & 0o077).toBe(0);
  });

  it("does not bring back a page that was removed, and finishes what was cut short", async () => {
    const choice = newChoice();
    // A base with a document, and one page of the handbook: the first time was stopped.
    const half = await openToWrite({ ...choice, isNamed: true });
    await half.addText({ uri: "mine", text: "# Mine" });
    await half.addText({ uri: "handbook/en/agents.md", text: "# Half", collection: HANDBOOK });
    await half.close();
    await expect(openToWrite(choice, AbortSignal.abort())).rejects.toThrow(/abort/i);
    const first = await openToWrite(choice);
    const all = await first.list({ collection: HANDBOOK });
    expect(all.length).toBeGreaterThan(10);
    expect(await first.remove("handbook/en/observe.md")).toBe(1);
    await first.close();
    await using second = await openToWrite(choice);
    const left = (await second.list()).map(({ uri }) => uri);
    expect(left).toEqual([...all.map(({ uri }) => uri).filter((uri) => !uri.endsWith("/en/observe.md")), "mine"]);
  });

  it.each([
    ["no database", () => "This is no database.".repeat(100), "is damaged, or no knowledge base"],
    ["a folder", () => undefined, "cannot be opened"],
  ])("is spoken of by its file, with a way out: %s", async (_, write, words) => {
    const choice = newChoice();
    const text = write();
    if (text === undefined) mkdirSync(choice.file);
    else writeFileSync(choice.file, text);
    const failure = await openToWrite(choice).then(String, String);
    expect(failure).toContain(`the knowledge base \`${choice.file}\` ${words}`);
    expect(failure).toContain("--kb FILE");
    expect(failure).not.toMatch(/not a database|unable to open|EISDIR/);
  });

  it("of an older version is refused by name, and left as it is", async () => {
    const choice = newChoice();
    await (await openToWrite(choice)).close();
    const db = new DatabaseSync(choice.file);
    db.exec("PRAGMA user_version = 1");
    db.close();
    const failure = await openToWrite(choice).then(String, String);
    expect(failure).toContain(`\`${choice.file}\` was made by an older version of Loom: move it away`);
  });

  it("has to be there where it was named", () => {
    expect(() => assertThere({ file: join(folder, "missing"), isNamed: true })).toThrow(/there is no knowledge base/);
    expect(() => assertThere({ file: join(folder, "missing"), isNamed: false })).not.toThrow();
    expect(() => assertThere({ file: join(folder, "missing"), isNamed: true, mayBeMissing: true })).not.toThrow();
  });
});
