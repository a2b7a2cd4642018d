/**
 * Puts a file into its place as a whole: readers see the old text or the new one, never a part, whatever is killed.
 */
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { open, rename, unlink } from "node:fs/promises";
import type { OpenFolder } from "./workspace.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** Replaces what has the name; a link of that name is replaced too, and never followed. */
export async function writeFile(
  folder: OpenFolder,
  name: string,
  content: string,
  options: { readonly mode: number; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const part = folder.at(`.${randomUUID()}.part`);
  const file = await open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, options.mode);
  try {
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    options.signal?.throwIfAborted();
    await rename(part, folder.at(name));
  } catch (error) {
    await unlink(part).catch(() => undefined);
    throw error;
  }
}
