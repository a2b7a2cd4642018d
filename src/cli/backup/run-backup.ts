/** `loom store backup`, `loom store restore` and `loom store verify`. */
import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { renewSessions, verifyStore } from "../../log/maintain-store.ts";
import { isLoomError } from "../../protocol/index.ts";
import { removeCommitMark } from "../../sqlite/commit-mark.ts";
import { copyDatabase } from "../../sqlite/copy-database.ts";
import { CliError, type ParsedCommand } from "../command.ts";
import { cleanText, formatJson, plural } from "../fit-text.ts";
import { describeOpenError } from "../kb/default-knowledge-base.ts";
import { STORE_BACKUP, STORE_RESTORE } from "../store/store-commands.ts";
import type { Terminal } from "../terminal.ts";
import { copyBlob, digestOfSession, listBlobs } from "./copy-blobs.ts";
import { type StoredPart, exists, listParts } from "./data-parts.ts";
import { findChangedFiles, MANIFEST, readManifest, writeManifest } from "./manifest.ts";
import { type VerifiedData, verifyData } from "./verify-data.ts";

/** Files that SQLite keeps next to a database that is open, or whose process was killed. */
const SIDE_FILES = ["-wal", "-shm", "-journal"];
const PRIVATE = { recursive: true, mode: 0o700 } as const;

export async function runBackup(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  try {
    if (parsed.command === STORE_BACKUP) return await back(parsed, terminal);
    return await (parsed.command === STORE_RESTORE ? restore : verify)(parsed, terminal);
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (code === undefined || path === undefined) throw error;
    throw new CliError(`\`${path}\` cannot be read or written (${code})`);
  }
}

async function back(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const folder = readFolder(parsed);
  const parts = listParts(parsed);
  const [store] = parts;
  if (!exists(store)) throw new CliError(`there is no store \`${store.path}\``, "name it with --store FILE");
  if (existsSync(folder)) throw new CliError(`\`${folder}\` exists already`, "name a new folder");
  const unfinished = `${folder}.unfinished-${randomUUID().slice(0, 8)}`;
  try {
    await mkdir(unfinished, PRIVATE);
    const copies = parts.filter(exists).map((part) => ({ ...part, path: join(unfinished, part.copy) }));
    for (const part of parts.filter(exists))
      if (part.name === "blobs")
        await copyBlobs(part, join(unfinished, store.copy), join(unfinished, part.copy), terminal);
      else await copyPart(part, join(unfinished, part.copy), terminal);
    const found = await verifyData(copies, (what) => terminal.progress(`checking ${what}`));
    // Reading a database leaves these files, which are empty now.
    for (const name of await readdir(unfinished)) if (/-(?:wal|shm)$/.test(name)) await rm(join(unfinished, name));
    terminal.progress("computing digests");
    const { files } = await writeManifest(unfinished);
    await syncTree(unfinished);
    await rename(unfinished, folder);
    await syncFolder(dirname(folder));
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const damaged = found.damaged.map((line) => line.replaceAll(unfinished, folder));
    return await report(parsed, terminal, { folder, files: files.length, bytes, ...found, damaged });
  } catch (error) {
    // After the rename, it does not exist.
    await rm(unfinished, { recursive: true, force: true }).catch(() => undefined);
    throw error;
  }
}

/** Copies a database. Errors of the knowledge base name its options, not those of the store. */
async function copyPart({ name, path }: StoredPart, to: string, terminal: Terminal): Promise<void> {
  try {
    await copyDatabase(path, to, (done) => terminal.progress(`copying ${name}, ${Math.floor(done * 100)} %`));
  } catch (error) {
    // A full disk is that of the backup.
    if (name !== "knowledge" || !isLoomError(error) || error.code === "store_full") throw error;
    throw new CliError(describeOpenError(path, error).message);
  }
}

/** Copies the blobs of the sessions that the copied store has. */
async function copyBlobs(part: StoredPart, store: string, to: string, terminal: Terminal): Promise<void> {
  const { sessions } = verifyStore(store, (count) => terminal.progress(`reading session ${count}`));
  const wanted = new Set(sessions.map(digestOfSession));
  await mkdir(to, PRIVATE);
  let count = 0;
  for await (const folder of listBlobs(part.path)) {
    if (!wanted.has(folder.session)) continue;
    await copyBlob(folder, to);
    terminal.progress(`copying file ${++count}`);
  }
}

async function restore(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  const folder = readFolder(parsed);
  const all = listParts(parsed);
  const manifest = await readManifest(folder);
  const damaged = await checkBackup(folder, manifest, terminal);
  if (damaged.length > 0) return report(parsed, terminal, { folder, damaged });
  const parts = all.filter(({ copy }) => existsSync(join(folder, copy)));
  const [store, ...others] = parts as [StoredPart, ...StoredPart[]];
  // Names the backup while it is being restored: what exists then is complete, and was restored before an interruption.
  const marker = `${store.path}-restoring`;
  const mark = createHash("sha256")
    .update(await readFile(join(folder, MANIFEST)))
    .digest("hex");
  const isAgain = !exists(store) && (await readFile(marker, "utf8").catch(() => undefined)) === mark;
  for (const part of parts) {
    // SQLite would apply the log of an earlier database to the restored one.
    const logs = part.name === "blobs" ? [] : SIDE_FILES.map((end) => part.path + end);
    for (const path of exists(part) ? [part.path] : logs)
      if (existsSync(path) && !(isAgain && path === part.path))
        throw new CliError(`\`${path}\` exists already`, "move it away first");
  }
  await mkdir(dirname(store.path), PRIVATE);
  await writeFile(marker, mark);
  // The store first: it may be refused because of its version.
  const missing = [store, ...others].filter((part) => !exists(part));
  for (const part of missing) {
    terminal.progress(`restoring ${part.name}`);
    const unfinished = nameUnfinished(part);
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(dirname(part.path), PRIVATE);
    await cp(join(folder, part.copy), unfinished, { recursive: true });
    if (part === store) {
      renewSessions(unfinished);
      removeCommitMark(part.path);
      for (const end of ["-wal", "-shm"]) await rm(`${unfinished}${end}`, { force: true });
    }
    if (part.name !== "blobs") await chmod(unfinished, 0o600);
    await syncTree(unfinished);
  }
  for (const part of missing.toReversed()) {
    await rename(nameUnfinished(part), part.path);
    await syncFolder(dirname(part.path));
  }
  await rm(marker, { force: true });
  const found = await verifyData(parts, (what) => terminal.progress(`checking ${what}`));
  return report(parsed, terminal, { folder, ...found });
}

async function verify(parsed: ParsedCommand, terminal: Terminal): Promise<number> {
  if (parsed.argument !== undefined) {
    const folder = readFolder(parsed);
    const manifest = await readManifest(folder);
    const damaged = await checkBackup(folder, manifest, terminal);
    return report(parsed, terminal, { folder, files: manifest.files.length, damaged });
  }
  const parts = listParts(parsed);
  if (!exists(parts[0])) throw new CliError(`there is no store \`${parts[0].path}\``, "name it with --store FILE");
  return report(parsed, terminal, await verifyData(parts, (what) => terminal.progress(`reading ${what}`)));
}

async function checkBackup(
  folder: string,
  manifest: Awaited<ReturnType<typeof readManifest>>,
  terminal: Terminal,
): Promise<readonly string[]> {
  return findChangedFiles(folder, manifest, (done) => terminal.progress(`checking, ${Math.floor(done * 100)} %`));
}

type Result = Partial<Omit<VerifiedData, "damaged">> & {
  readonly folder?: string;
  readonly files?: number;
  readonly bytes?: number;
  readonly damaged: readonly string[];
};

async function report(parsed: ParsedCommand, terminal: Terminal, result: Result): Promise<number> {
  const { damaged, folder, ...counts } = result;
  terminal.progress(undefined);
  if (parsed.options["json"] === true) await terminal.write(formatJson(result));
  else {
    for (const line of damaged) await terminal.write(`damaged: ${cleanText(line)}\n`);
    const parts = Object.entries(counts).map(([name, count]) =>
      name === "bytes" ? `${count} bytes` : plural(count, name.replace(/s$/, "").replace("blob", "uploaded file")),
    );
    const about = [...(folder === undefined ? [] : [cleanText(folder)]), parts.join(", ")].filter(Boolean).join(": ");
    await terminal.write(
      `${about}${about === "" ? "" : "; "}${damaged.length === 0 ? "nothing is damaged" : `${damaged.length} damaged`}\n`,
    );
  }
  return damaged.length === 0 ? 0 : 1;
}

const nameUnfinished = ({ path }: StoredPart): string => `${path}.unfinished`;

function readFolder({ argument = "" }: ParsedCommand): string {
  return resolve(argument);
}

/** Makes a file, or all files and folders below a folder, durable. */
async function syncTree(path: string): Promise<void> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) await syncFolder(join(entry.parentPath, entry.name));
  await syncFolder(path);
}

/** Some systems cannot sync folders. */
async function syncFolder(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync().catch(() => undefined);
  } finally {
    await file.close();
  }
}
