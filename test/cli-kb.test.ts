// `loom kb`, and the knowledge base in `loom run`: the real command, with a separate file for each test.
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folder, loom, parseLines, type CommandResult } from "./cli-run.ts";

const HANDBOOK = "handbook";
let places = 0;

/** Creates a folder with a document, and runs the command in it. */
function newPlace() {
  const home = join(folder, `place-${places++}`);
  mkdirSync(home);
  writeFileSync(join(home, "tides.md"), "# Tides\n\nThe moon pulls the sea, twice a day.\n");
  const env = { LOOM_STORE: join(home, "loom.db"), LOOM_KB: "", LOOM_MODEL: "" };
  const run = (...args: readonly string[]): Promise<CommandResult> => loom(args, { env });
  const read = async (...args: readonly string[]): Promise<string> => (await run(...args)).out;
  return { home, base: join(home, "knowledge.db"), own: join(home, "own.db"), run, read };
}

describe("loom kb", () => {
  it("starts with the handbook until it is removed", async () => {
    const { base, read } = newPlace();
    expect(await read("kb", "search", "如何部署应用")).toMatch(/^\[1\] 部署指南 /);
    // Only the owner can read the file.
    if (process.platform !== "win32") expect(statSync(base).mode & 0o077).toBe(0);
    expect(await read("kb", "remove", "handbook")).toBe("removed 20 documents: handbook\n");
    expect(await read("kb", "list")).toBe("");
  });

  it("removes nothing if the path is ambiguous", async () => {
    const { run } = newPlace();
    // Commands run in this folder.
    const own = join(folder, HANDBOOK);
    mkdirSync(own);
    writeFileSync(join(own, "own.md"), "# Own\n\nMine.\n");
    await run("kb", "add", own);
    const { code, out, err } = await run("kb", "remove", HANDBOOK);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(/is ambiguous.*nothing was removed/s);
    expect((await run("kb", "remove", own)).out).toMatch(/^removed 1 document: /);
  });

  it("prints help and errors", async () => {
    const { run } = newPlace();
    expect((await run("help", "kb", "search")).out).toMatch(/Usage: loom kb search \[OPTIONS\] QUERY…/);
    const { code, out, err } = await run("kb");
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(/needs a command\n.*add, list, search, remove/);
  });
});

describe("loom run with a knowledge base", () => {
  it("finds the handbook in the first run", async () => {
    const { code, out } = await newPlace().run("run", "How do I deploy it?");
    expect(code).toBe(0);
    expect(out).toContain("1. Install Node.js 24 or newer");
    expect(out).toContain("[1] Deployment guide (handbook/en/deployment-guide.md");
  });

  it("prints a to-do list as part of the answer if there is no terminal", async () => {
    const out = await newPlace().read("run", "Search the deployment docs and make a checklist");
    expect(out).toMatch(
      /list from “Deployment guide” \[\d\]:\n+Deployment guide\n\[ \] Install Node\.js 24 or newer\n(?:\[ \] .*\n){7}\nSource: “Deployment guide” /,
    );
  });

  it("does not create a knowledge base for a run without a search", async () => {
    const { base, read } = newPlace();
    expect(await read("run", "What is 6*7?")).toContain("42");
    expect(existsSync(base)).toBe(false);
  });

  it("searches the given file, as a tool or before the answer", async () => {
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

  it.each([[[]], [["--retrieve"]]])("continues without a file that cannot be opened: %o", async (options) => {
    const { base, run } = newPlace();
    writeFileSync(base, "This is not a database at all.".repeat(100));
    const { code, out, err } = await run("run", ...options, "What is Loom?");
    expect(code).toBe(0);
    expect(out).toMatch(/^Offline model: /);
    expect(err).toContain(`The knowledge base \`${base}\` is damaged or not a knowledge base; move it away`);
    // SQLite's own message is not helpful here.
    expect(out + err).not.toMatch(/not a database|SQLITE|file is no/i);
  });

  it("works without a knowledge base, and rejects a missing file", async () => {
    const { run } = newPlace();
    const { code, out } = await run("run", "--kb", "none", "What is Loom?");
    expect([code, out.includes("This is a demo")]).toEqual([0, true]);
    expect(await run("run", "--kb", "none", "--retrieve", "x")).toMatchObject({ code: 2 });
    expect((await run("run", "--kb", "missing.db", "x")).err).toContain("no knowledge base `missing.db`");
  });
});
