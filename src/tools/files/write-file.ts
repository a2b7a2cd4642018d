/** Writes a file atomically: readers see the old text or the new text, even after a crash. */
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { open, rename, unlink } from "node:fs/promises";
import type { OpenFolder } from "./workspace.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** Replaces the file with this name. A link is replaced too, not followed. */
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
