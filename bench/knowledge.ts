/**
 * Knowledge base with many documents: indexing time per file, its growth with ten times the files, and search time. The
 * peer in the same run is a simple use of SQLite: FTS5 with the trigram tokenizer, one row per section, one insert at a
 * time.
 *
 * `--quick` takes a tenth of the files.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openKnowledgeBase } from "../src/context/index.ts";
import { print, report, times } from "./measure.ts";

const QUICK = process.argv.includes("--quick");
const FILES = QUICK ? 1000 : 10_000;
const FILE_BYTES = 2000;
const QUERIES = 1000;

const folder = mkdtempSync(join(tmpdir(), "loom-bench-"));
let reached = true;

/** Pseudo-random numbers, the same in every run. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const random = createRandom(7);
const pick = (from: string): string => from[Math.floor(random() * from.length)] ?? "";
const ENGLISH = Array.from({ length: 8000 }, () =>
  Array.from({ length: 2 + Math.floor(random() * 3) }, () => pick("bcdfghklmnprstvw") + pick("aeiou")).join(""),
);
const CHINESE = Array.from({ length: 5000 }, () =>
  String.fromCharCode(0x4e00 + Math.floor(random() * 2500), 0x4e00 + Math.floor(random() * 2500)),
);
/** Draws a word with a Zipf distribution, as in real texts: the n-th word is n times as rare as the first. */
function drawWord(words: readonly string[]): string {
  return words[Math.floor(words.length ** random()) - 1] ?? words[0] ?? "";
}

function writeSentence(isChinese: boolean): string {
  if (isChinese) return `${Array.from({ length: 9 }, () => drawWord(CHINESE)).join("")}。`;
  return `${Array.from({ length: 12 }, () => drawWord(ENGLISH)).join(" ")}. `;
}

function writeDocument(isChinese: boolean): string {
  const space = isChinese ? "" : " ";
  const heading = (): string => [1, 2, 3].map(() => drawWord(isChinese ? CHINESE : ENGLISH)).join(space);
  let text = `# ${heading()}\n\n`;
  for (let part = 1; Buffer.byteLength(text) < FILE_BYTES; part++) {
    for (let sentence = 0; sentence < 4; sentence++) text += writeSentence(isChinese);
    text += part % 2 === 0 ? `\n\n## ${heading()}\n\n` : "\n\n";
  }
  return text;
}

function writeFolder(name: string, count: number): string {
  const root = join(folder, name);
  for (let at = 0; at < count; at++) {
    const inner = join(root, `${Math.floor(at / 250)}`);
    if (at % 250 === 0) mkdirSync(inner, { recursive: true });
    writeFileSync(join(inner, `${at}.md`), writeDocument(at % 2 === 0));
  }
  return root;
}

function writeQuestion(at: number): string {
  const words = (from: readonly string[], count: number): string[] =>
    Array.from({ length: count }, () => drawWord(from));
  if (at % 2 === 0) return `如何${words(CHINESE, 2 + (at % 3)).join("")}`;
  return `how do I ${words(ENGLISH, 2 + (at % 3)).join(" ")}`;
}

interface Cost {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

async function measure(work: () => Promise<unknown> | void): Promise<Cost> {
  const start = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { seconds: (performance.now() - start) / 1000, cpuSeconds: (user + system) / 1e6 };
}

function millisecondsBetween(before: NodeJS.CpuUsage, after: NodeJS.CpuUsage): number {
  return (after.user + after.system - before.user - before.system) / 1000;
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

function openPeer(root: string): { readonly index: () => void; readonly ask: (query: string) => void } {
  const db = new DatabaseSync(join(folder, "peer.db"));
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  db.exec("CREATE VIRTUAL TABLE passages USING fts5(uri UNINDEXED, body, tokenize = 'trigram')");
  const insert = db.prepare("INSERT INTO passages VALUES (?, ?)");
  const select = db.prepare(
    "SELECT uri, snippet(passages, 1, '', '', '…', 32) FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT 5",
  );
  return {
    index: () => {
      for (const name of readdirSync(root, { recursive: true }) as string[]) {
        if (!name.endsWith(".md")) continue;
        const parts = readFileSync(join(root, name), "utf8").split(/\n(?=## )/);
        for (const part of parts) insert.run(name, part);
      }
    },
    ask: (query) => {
      const terms = query.split(/\s+/).map((word) => `"${word.replaceAll('"', "")}"`);
      select.all(terms.join(" OR "));
    },
  };
}

try {
  const small = writeFolder("small", FILES / 10);
  const large = writeFolder("large", FILES);
  const smallBase = await openKnowledgeBase(join(folder, "small.db"));
  // Warm-up: the first files pay for compilation and caches.
  await smallBase.add(small);
  await smallBase.remove(small);
  const few = await measure(() => smallBase.add(small));
  await smallBase.close();

  const base = await openKnowledgeBase(join(folder, "large.db"));
  let longest = 0;
  let last = performance.now();
  const ticker = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  const many = await measure(() => base.add(large));
  clearInterval(ticker);
  const { chunks } = await base.stats();
  const again = await measure(() => base.add(large));
  const peer = openPeer(large);
  const plain = await measure(() => peer.index());
  const size = (name: string): string => `${(statSync(join(folder, name)).size / 1e6).toFixed(0)} MB`;
  print(`      ${FILES} files, ${chunks} passages, ${size("large.db")}; peer: ${size("peer.db")}`);
  print(
    `      event loop blocked for at most ${longest.toFixed(0)} ms; adding the unchanged folder again takes ${again.seconds.toFixed(2)} s`,
  );

  const goal = (60 * FILES) / 10_000;
  const shown = `${many.seconds.toFixed(1)} s wall time, ${many.cpuSeconds.toFixed(1)} s processor time`;
  const isQuick = many.seconds < goal && many.cpuSeconds < goal;
  const ratio = `${times(many.cpuSeconds / plain.cpuSeconds)} the processor time of the peer (${plain.cpuSeconds.toFixed(1)} s)`;
  reached = report(`indexing ${FILES} files of 2 kB`, shown, `< ${goal} s`, isQuick, ratio) && reached;
  const growth = many.cpuSeconds / FILES / (few.cpuSeconds / (FILES / 10));
  reached = report("cost per file with ten times the files", times(growth), "≤ 1.5 ×", growth <= 1.5) && reached;

  const ours: number[] = [];
  const theirs: number[] = [];
  const walls: number[] = [];
  let found = 0;
  for (let at = 0; at < QUERIES + 50; at++) {
    const query = writeQuestion(at);
    const start = performance.now();
    // The search runs in its own thread.
    const before = process.cpuUsage();
    const hits = await base.search(query);
    const middle = process.cpuUsage();
    const wall = performance.now() - start;
    peer.ask(query);
    const end = process.cpuUsage();
    found += hits.length > 0 ? 1 : 0;
    if (at < 50) continue;
    ours.push(millisecondsBetween(before, middle));
    theirs.push(millisecondsBetween(middle, end));
    walls.push(wall);
  }
  await base.close();
  const slow = quantile(ours, 0.99);
  const detail =
    `median ${quantile(ours, 0.5).toFixed(1)} ms; wall time p99 ${quantile(walls, 0.99).toFixed(1)} ms; ${found} of ${QUERIES + 50} searches with results; ` +
    `peer: median ${quantile(theirs, 0.5).toFixed(1)} ms, p99 ${quantile(theirs, 0.99).toFixed(1)} ms`;
  reached = report("processor time of a search, p99", `${slow.toFixed(1)} ms`, "< 20 ms", slow < 20, detail) && reached;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = reached ? 0 : 1;
