// `loom kb`, and the knowledge base in `loom run`: the real command, with a base of its own for each test.
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folder, loom, parseLines, type Ran } from "./cli-run.ts";

const HANDBOOK = "handbook";
let places = 0;

/** A folder with a document, and the command with everything in it. */
function newPlace() {
  const home = join(folder, `place-${places++}`);
  mkdirSync(home);
  writeFileSync(join(home, "tides.md"), "# Tides\n\nThe moon pulls the sea, twice a day.\n");
  const env = { LOOM_STORE: join(home, "loom.db"), LOOM_KB: "", LOOM_MODEL: "" };
  const run = (...args: readonly string[]): Promise<Ran> => loom(args, { env });
  const read = async (...args: readonly string[]): Promise<string> => (await run(...args)).out;
  return { home, base: join(home, "knowledge.db"), own: join(home, "own.db"), run, read };
}

describe("loom kb", () => {
  it("begins with the handbook, until somebody removes it", async () => {
    const { base, read } = newPlace();
    expect(await read("kb", "search", "如何部署应用")).toMatch(/^\[1\] 部署指南 /);
    // Documents are their owner's alone.
    if (process.platform !== "win32") expect(statSync(base).mode & 0o077).toBe(0);
    expect(await read("kb", "remove", "handbook")).toBe("20 documents removed: handbook\n");
    expect(await read("kb", "list")).toBe("");
  });

  it("removes nothing where two things have the name", async () => {
    const { run } = newPlace();
    // Commands run in this folder.
    const own = join(folder, HANDBOOK);
    mkdirSync(own);
    writeFileSync(join(own, "own.md"), "# Own\n\nMine.\n");
    await run("kb", "add", own);
    const { code, out, err } = await run("kb", "remove", HANDBOOK);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(/may mean two things.*neither was removed/s);
    expect((await run("kb", "remove", own)).out).toMatch(/^1 document removed: /);
  });

  it("tells what it can do, and what is wrong", async () => {
    const { run } = newPlace();
    expect((await run("help", "kb", "search")).out).toMatch(/Usage: loom kb search \[OPTIONS\] QUERY…/);
    const { code, out, err } = await run("kb");
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(/needs to be told what to do\n.*add, list, search, remove/);
  });
});

describe.concurrent("loom run with a knowledge base", () => {
  it("finds the handbook with the first question", async () => {
    const { code, out } = await newPlace().run("run", "How do I deploy it?");
    expect(code).toBe(0);
    expect(out).toContain("1. Install Node.js 24 or newer");
    expect(out).toContain("[1] Deployment guide (handbook/en/deployment-guide.md");
  });

  it("prints the list it makes where no terminal shows it", async () => {
    const out = await newPlace().read("run", "Search the deployment docs and make a checklist");
    expect(out).toMatch(
      /this list:\n+Deployment guide\n\[ \] Install Node\.js 24 or newer\n(?:\[ \] .*\n){7}\n.*8 items/,
    );
  });

  it("opens none for a run that searches nothing", async () => {
    const { base, read } = newPlace();
    expect(await read("run", "What is 6*7?")).toContain("42");
    expect(existsSync(base)).toBe(false);
  });

  it("searches the base it is given, before or when the model likes", async () => {
    const { home, own, run, read } = newPlace();
    await run("kb", "add", "--kb", own, join(home, "tides.md"));
    const question = "Why does the moon pull the sea?";
    const frames = parseLines(await read("run", "--kb", own, "--json", question));
    expect(frames.find(({ type }) => type === "tool_call")).toMatchObject({ name: "search_knowledge_base" });
    const before = parseLines(await read("run", "--kb", own, "--retrieve", "--json", question));
    expect(before.some(({ type }) => type === "tool_call")).toBe(false);
    for (const given of [frames, before]) {
      const found = given.find(({ type }) => type === "retrieval_complete");
      expect(found).toMatchObject({ sources: [expect.objectContaining({ title: "Tides", ref: 1 })] });
      expect(given.at(-1)?.["reply"]).toContain("The moon pulls the sea, twice a day.");
    }
  });

  it.each([[[]], [["--retrieve"]]])("goes on without one that cannot be opened, and says so: %o", async (options) => {
    const { base, run } = newPlace();
    writeFileSync(base, "This is no database at all.".repeat(100));
    const { code, out, err } = await run("run", ...options, "What is Loom?");
    expect(code).toBe(0);
    expect(out).toMatch(/^Offline model: /);
    expect(err).toContain(`the knowledge base \`${base}\` is damaged, or no knowledge base: move it away`);
    // What the engine says of the file is for nobody here.
    expect(out + err).not.toMatch(/not a database|SQLITE|file is no/i);
  });

  it("does without where it is told so, and refuses what is not there", async () => {
    const { run } = newPlace();
    const { code, out } = await run("run", "--no-kb", "What is Loom?");
    expect([code, out.includes("none of them fits")]).toEqual([0, true]);
    expect(await run("run", "--no-kb", "--retrieve", "x")).toMatchObject({ code: 2 });
    expect((await run("run", "--kb", "missing.db", "x")).err).toContain("there is no knowledge base `missing.db`");
  });
});
