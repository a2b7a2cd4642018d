import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { AuditEntry } from "./auditor.ts";
import { createAuditFile } from "./create-audit-file.ts";

const createEntry = (token: number): AuditEntry => ({
  time: new Date(0).toISOString(),
  action: "token.revoke",
  outcome: "done",
  actor: "cli:ann",
  target: { token },
});

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "loom-audit-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const readTokens = (file: string): number[] =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => Number((JSON.parse(line) as AuditEntry).target?.["token"]));

it("appends lines that only the owner can read", async () => {
  const file = join(createFolder(), "audit.ndjson");
  await Promise.all([1, 2, 3].map((token) => createAuditFile(file)(createEntry(token))));
  const audit = createAuditFile(file);
  await Promise.all([4, 5, 6].map((token) => audit(createEntry(token))));
  expect(readTokens(file).toSorted((one, other) => one - other)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it("begins a new line after one that was cut", async () => {
  const file = join(createFolder(), "audit.ndjson");
  appendFileSync(file, '{"time":"1970');
  await createAuditFile(file)(createEntry(1));
  expect(readFileSync(file, "utf8").split("\n")).toEqual(['{"time":"1970', JSON.stringify(createEntry(1)), ""]);
});

it("keeps a limited number of files of limited size", async () => {
  const folder = createFolder();
  const maxBytes = 3 * JSON.stringify(createEntry(1)).length + 10;
  const audit = createAuditFile(join(folder, "audit"), { maxBytes, maxFiles: 2 });
  for (let token = 1; token < 9; token++) await audit(createEntry(token));
  expect(readdirSync(folder).toSorted()).toEqual(["audit", "audit.1", "audit.2"]);
  const kept = ["audit.2", "audit.1", "audit"].flatMap((name) => readTokens(join(folder, name)));
  expect(kept).toEqual([1, 2, 3, 4, 5, 6, 7, 8].slice(-kept.length));
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).size).toBeLessThanOrEqual(maxBytes);
});

it("keeps all lines if several processes write and rotate the file", async () => {
  const folder = createFolder();
  const file = join(folder, "audit");
  const options = { maxBytes: 3 * JSON.stringify(createEntry(100)).length + 10, maxFiles: 100 };
  // Each has its own queue, like the one of another process.
  const writers = [1, 2, 3].map(() => createAuditFile(file, options));
  const tokens = Array.from({ length: 90 }, (_, index) => 100 + index);
  await Promise.all(
    writers.map(async (write, index) => {
      for (const token of tokens) if (token % writers.length === index) await write(createEntry(token));
    }),
  );
  const kept = readdirSync(folder).flatMap((name) => readTokens(join(folder, name)));
  expect(kept.toSorted((one, other) => one - other)).toEqual(tokens);
  // A killed process has left its lock.
  writeFileSync(`${file}.rotating`, "");
  utimesSync(`${file}.rotating`, 0, 0);
  const [write] = writers as [(typeof writers)[0]];
  for (const token of tokens.slice(0, 9)) await write(createEntry(token));
  expect(readdirSync(folder)).not.toContain("audit.rotating");
  expect(statSync(file).size).toBeLessThanOrEqual(options.maxBytes);
});

it("rejects if the file cannot be written, and recovers", async () => {
  const folder = createFolder();
  const file = join(folder, "sub", "audit");
  const audit = createAuditFile(file);
  await expect(audit(createEntry(1))).rejects.toThrow("ENOENT");
  const other = createAuditFile(join(folder, "audit"));
  await other(createEntry(2));
  expect(readTokens(join(folder, "audit"))).toEqual([2]);
});
