/**
 * The manifest of a backup: all of its files with their sizes and SHA-256 digests. It is written last, so a folder with a
 * manifest is a complete backup.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isJsonObject, parseObject } from "../../protocol/json.ts";
import { readPackageVersion } from "../../server/read-package-version.ts";
import { CliError } from "../command.ts";

/** Name of the file in the backup. */
export const MANIFEST = "manifest.json";
const FORMAT = 1;

export interface BackedUpFile {
  /** Relative to the backup, with `/`. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface Manifest {
  readonly format: number;
  /** Version of Loom that wrote the backup. */
  readonly version: string;
  readonly created_at: string;
  readonly files: readonly BackedUpFile[];
}

/** Digests all files of a folder and writes its manifest. */
export async function writeManifest(folder: string): Promise<Manifest> {
  const files: BackedUpFile[] = [];
  for (const path of await listFiles(folder)) files.push({ path, ...(await digestFile(join(folder, path))) });
  const manifest = { format: FORMAT, version: readPackageVersion(), created_at: new Date().toISOString(), files };
  const file = await open(join(folder, MANIFEST), "wx", 0o600);
  try {
    await file.writeFile(`${JSON.stringify(manifest, undefined, 1)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  return manifest;
}

/** Throws a CliError if the folder is not a backup, or is one of a newer version. */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, MANIFEST), "utf8").catch(() => undefined);
  if (text === undefined) throw new CliError(`\`${folder}\` is not a complete backup: it has no ${MANIFEST}`);
  const read = parseObject(text);
  if (!isManifest(read)) throw new CliError(`\`${join(folder, MANIFEST)}\` is damaged`);
  if (read.format > FORMAT)
    throw new CliError(`\`${folder}\` was written by Loom ${read.version}, which is newer`, "use that version");
  return read;
}

/** Returns what is missing, different or too much in a backup. */
export async function findChangedFiles(
  folder: string,
  { files }: Manifest,
  onProgress: (done: number) => void,
): Promise<readonly string[]> {
  const faults: string[] = [];
  const found = new Set(await listFiles(folder));
  for (const [index, { path, bytes, sha256 }] of files.entries()) {
    onProgress(index / files.length);
    if (!found.delete(path)) faults.push(`${path} is missing`);
    else {
      const digest = await digestFile(join(folder, path)).catch(() => undefined);
      if (digest === undefined) faults.push(`${path} cannot be read`);
      else if (digest.bytes !== bytes || digest.sha256 !== sha256) faults.push(`${path} is damaged`);
    }
  }
  for (const path of found) faults.push(`${path} is not part of the backup`);
  return faults;
}

/** All files below a folder except the manifest, sorted. */
async function listFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll("\\", "/"),
    )
    .filter((path) => path !== MANIFEST)
    .toSorted();
}

export async function digestFile(path: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest("hex") };
}

function isManifest(value: unknown): value is Manifest {
  if (!isJsonObject(value)) return false;
  const { format, version, files } = value;
  return (
    typeof format === "number" &&
    typeof version === "string" &&
    Array.isArray(files) &&
    files.every(
      (file) =>
        isJsonObject(file) &&
        typeof file["path"] === "string" &&
        isInside(file["path"]) &&
        typeof file["bytes"] === "number" &&
        typeof file["sha256"] === "string",
    )
  );
}

/** A manifest of unknown origin must not name files outside of its folder. */
function isInside(path: string): boolean {
  return path !== "" && !path.startsWith("/") && !path.includes("\\") && !path.split("/").includes("..");
}
