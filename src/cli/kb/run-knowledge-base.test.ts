import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { afterAll, describe, expect, it } from "vitest";
import { CliError, parseCommand } from "../command.ts";
import { createTerminal } from "../terminal.ts";
import { KB } from "./kb-commands.ts";
import { runKnowledgeBase } from "./run-knowledge-base.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-kb-run-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let places = 0;

/** Creates a folder with two documents, and runs the command on captured streams. */
function newPlace(columns?: number) {
  const docs = join(folder, `${places}`, "docs");
  const own = join(folder, `${places++}`, "own.db");
  mkdirSync(docs, { recursive: true });
  writeFileSync(join(docs, "tides.md"), "# Tides\n\nThe moon pulls the sea, twice a day.\n");
  writeFileSync(join(docs, "潮汐.md"), "# 潮汐\n\n月亮吸引海水，每天两次。\n");
  const run = async (name: string, ...args: readonly string[]) => {
    const written = { out: "", err: "" };
    const open = (stream: "out" | "err"): NodeJS.WriteStream => {
      const sink = new Writable({
        write(chunk: Buffer, _encoding, done) {
          written[stream] += chunk.toString();
          done();
        },
      });
      return Object.assign(sink, { isTTY: columns !== undefined, columns }) as unknown as NodeJS.WriteStream;
    };
    const terminal = createTerminal(Readable.from([]) as unknown as NodeJS.ReadStream, open("out"), open("err"));
    const code = await runKnowledgeBase(parseCommand(KB, [name, "--kb", own, ...args]), terminal);
    return { code, ...written };
  };
  return { docs, own, run };
}

const readLines = (text: string): readonly unknown[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);

describe("loom kb", () => {
  it("adds changes, lists, searches and removes", async () => {
    const { docs, own, run } = newPlace();
    const added = { code: 0, out: "2 added, 0 updated, 0 unchanged, 0 removed\n", err: "" };
    expect(await run("add", docs)).toEqual(added);
    writeFileSync(join(docs, "tides.md"), "# Tides\n\nThe moon pulls the sea, twice a day, and so does the sun.\n");
    rmSync(join(docs, "潮汐.md"));
    writeFileSync(join(docs, "broken.md"), Uint8Array.of(0, 1, 2, 0, 255));
    const again = await run("add", docs);
    expect(again).toMatchObject({ code: 1, out: "0 added, 1 updated, 0 unchanged, 1 removed, 1 failed\n" });
    expect(again.err).toContain("broken.md");
    expect((await run("list")).out).toBe(`default\tTides\t${join(docs, "tides.md")}\n`);
    const found = await run("search", "sun", "and", "moon");
    expect(found.out).toMatch(/^\[1\] Tides {2}default, \d\.\d\d\n {4}.*tides\.md:1-3\n {4}.*sun\.\n$/);
    expect(await run("remove", docs)).toEqual({ code: 0, out: `removed 1 document: ${docs}\n`, err: "" });
    expect(await run("search", "moon")).toEqual({ code: 1, out: "", err: "no matches\n" });
    const gone = await run("remove", docs);
    expect([gone.code, gone.out]).toEqual([2, ""]);
    expect(gone.err).toBe(`no document \`${docs}\`; run \`loom kb list --kb ${own}\` for a list\n`);
  });

  it("prints JSON and finds Chinese text", async () => {
    const { docs, run } = newPlace();
    const added = await run("add", "--collection", "sea", "--json", docs);
    expect(readLines(added.out)).toEqual([expect.objectContaining({ path: docs, added: 2, failed: [] })]);
    const [hit] = readLines((await run("search", "--json", "月亮为什么吸引海水")).out);
    expect(hit).toMatchObject({ title: "潮汐", collection: "sea", firstLine: 1, uri: join(docs, "潮汐.md") });
    expect(readLines((await run("list", "--collection", "sea", "--json")).out)).toHaveLength(2);
    expect((await run("list", "--collection", "none", "--json")).out).toBe("");
    expect(readLines((await run("remove", "--json", docs)).out)).toEqual([{ path: docs, removed: 2 }]);
  });

  it("shows and clears the progress", async () => {
    const { docs, run } = newPlace(60);
    const { out, err } = await run("add", docs);
    expect(out).toBe("2 added, 0 updated, 0 unchanged, 0 removed\n");
    expect(err).toMatch(/^1 of 2 \(50 %\) .*\r\p{Cc}\[K$/su);
  });

  it("reports a folder without documents", async () => {
    const { docs, run } = newPlace();
    mkdirSync(join(docs, "empty"));
    const { code, err } = await run("add", join(docs, "empty"));
    expect([code, err]).toEqual([0, `no documents in ${join(docs, "empty")}\n`]);
  });

  it("continues after a failure and reports it", async () => {
    const { docs, run } = newPlace();
    const [tides, nowhere] = [join(docs, "tides.md"), join(docs, "nowhere")];
    const added = await run("add", tides, nowhere, join(docs, "潮汐.md"));
    expect(added).toMatchObject({ code: 1, out: "2 added, 0 updated, 0 unchanged, 0 removed, 1 failed\n" });
    expect(added.err).toMatch(/No such file or folder: .*nowhere\n$/);
    const told = await run("add", "--json", nowhere);
    expect(told.code).toBe(2);
    expect(readLines(told.out)).toMatchObject([{ path: nowhere, added: 0, failed: [{ code: "unreadable_document" }] }]);
    expect(await run("remove", nowhere, tides)).toMatchObject({ code: 1, out: `removed 1 document: ${tides}\n` });
    expect((await run("list")).out).toContain("潮汐");
  });

  it("rejects invalid arguments with a reason", async () => {
    const { docs, own, run } = newPlace();
    await expect(run("list")).rejects.toThrow("no knowledge base");
    await run("add", docs);
    await expect(run("search", "--limit", "0", "x")).rejects.toThrow(/not a number from 1 to 50/);
    rmSync(own);
    writeFileSync(own, "This is not a database at all.".repeat(100));
    await expect(run("list")).rejects.toBeInstanceOf(CliError);
  });
});
