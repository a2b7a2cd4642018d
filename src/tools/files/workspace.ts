/**
 * Resolves paths inside one folder, the workspace, and never leaves it.
 *
 * A path is resolved one name at a time, and each folder on the way stays open. On systems with /proc, the next name is
 * looked up in the open folder, so that replacing a folder by a link between check and use has no effect. On other
 * systems names are used, and the opened file is compared with its real path afterwards; there, a concurrent process
 * can still redirect a write.
 *
 * Links are resolved here and never by the system: links inside the workspace are followed, links that lead out are
 * rejected.
 */
import { constants, existsSync, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, resolve, sep } from "node:path";
import { LoomError } from "../../protocol/index.ts";
import { stripRoot, MAX_NAMES, parsePath, quotePath, refusePath } from "./parse-path.ts";

const MAX_LINKS = 16;
/** How often a name may change between check and use while a path is resolved. */
const MAX_TRIES = 8;

// Constants that Windows lacks are undefined, which counts as 0.
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

export interface OpenFolder {
  readonly handle: FileHandle;
  /** Returns the path to pass to the system for a name in this folder. */
  at(name: string): string;
}

/** A resolved path. The folder stays open while the location is in use. */
export interface WorkspaceLocation {
  readonly folder: OpenFolder;
  /** Name in the folder. Undefined if the path is the folder itself. */
  readonly name: string | undefined;
  /** Undefined if nothing exists there. */
  readonly stats: Stats | undefined;
  /** True if the last name was a link that has been followed. */
  readonly isLinked: boolean;
}

export interface WalkOptions {
  /** Creates missing folders. */
  readonly createFolders?: boolean;
  /** Does not follow a link at the end of the path. */
  readonly keepLink?: boolean;
}

export class Workspace {
  readonly #root: string;
  readonly #byHandle: boolean;

  constructor(root: string, byHandle: boolean = existsSync("/proc/self/fd")) {
    this.#root = resolve(root);
    this.#byHandle = byHandle;
  }

  /** Normalizes a path: relative, and `.` for the workspace itself. Does not follow links. */
  async normalize(path: string): Promise<string> {
    const { roots } = await this.#findRoot();
    return parsePath(path, roots).join("/") || ".";
  }

  /** Resolves a path, calls `use` with the location, and closes all opened folders. */
  async withLocation<T>(
    path: string,
    options: WalkOptions,
    use: (location: WorkspaceLocation) => Promise<T>,
  ): Promise<T> {
    const { root, roots } = await this.#findRoot();
    const names = parsePath(path, roots);
    const stack: OpenFolder[] = [];
    try {
      stack.push(await this.openFolder(root, path, root));
      return await use(await this.#walk(stack, names.toReversed(), { ...options, path, root, roots }));
    } catch (error) {
      throw explainFailure(error, path);
    } finally {
      for (const folder of stack) await folder.handle.close().catch(() => undefined);
    }
  }

  async #findRoot(): Promise<{ readonly root: string; readonly roots: readonly string[] }> {
    const root = await realpath(this.#root).catch(() => {
      throw new LoomError("path_refused", "The workspace folder does not exist");
    });
    return { root, roots: [this.#root, root].map((each) => each.replaceAll(sep, "/")) };
  }

  /** Opens a folder. Does not follow links. */
  async openFolder(at: string, path: string, root?: string): Promise<OpenFolder> {
    const handle = await open(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
    try {
      if (!(await handle.stat()).isDirectory()) throw refusePath(path, "leads through something that is not a folder");
      if (!this.#byHandle) await this.#assertInside(handle, at, path, root);
    } catch (error) {
      await handle.close();
      throw error;
    }
    const base = this.#byHandle ? `/proc/self/fd/${handle.fd}` : at;
    return { handle, at: (name) => join(base, name) };
  }

  /** Opens a regular file for reading. Does not follow links. */
  async openFile(at: string, path: string): Promise<FileHandle> {
    // Opening a pipe without a writer would block a thread forever.
    const handle = await open(at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      if (!(await handle.stat()).isFile()) throw refusePath(path, "is not a regular file");
      if (!this.#byHandle) await this.#assertInside(handle, at, path);
    } catch (error) {
      await handle.close();
      throw error;
    }
    return handle;
  }

  async #walk(
    stack: OpenFolder[],
    todo: string[],
    {
      path,
      root,
      roots,
      createFolders: makeFolders,
      keepLink,
    }: WalkOptions & { path: string; root: string; roots: readonly string[] },
  ): Promise<WorkspaceLocation> {
    let links = 0;
    let tries = 0;
    let isLinked = false;
    for (;;) {
      const folder = stack.at(-1);
      if (folder === undefined) throw refusePath(path, "leads out of the workspace");
      const name = todo.pop();
      if (name === undefined) return { folder, name, stats: await folder.handle.stat(), isLinked };
      if (name === "..") {
        if (stack.length === 1) throw refusePath(path, "leads out of the workspace");
        await stack.pop()?.handle.close();
        continue;
      }
      const stats = await lstatIfExists(folder.at(name));
      if (stats?.isSymbolicLink() === true && !(keepLink === true && todo.length === 0)) {
        links += 1;
        if (links > MAX_LINKS) throw refusePath(path, "leads through too many links");
        isLinked ||= todo.length === 0;
        const target = (await readlink(folder.at(name))).replaceAll(sep, "/");
        const inner = isAbsolute(target) ? stripRoot(target, roots) : target;
        if (inner === undefined) throw refusePath(path, "leads out of the workspace");
        // An absolute link starts at the workspace folder.
        if (inner !== target) for (const left of stack.splice(1)) await left.handle.close();
        todo.push(
          ...inner
            .split("/")
            .filter((each) => each !== "" && each !== ".")
            .toReversed(),
        );
        if (todo.length > MAX_NAMES * 2) throw refusePath(path, "leads through too many folders");
        continue;
      }
      if (todo.length === 0) return { folder, name, stats, isLinked };
      if (stats === undefined) {
        if (makeFolders !== true) throw pathNotFound(path);
        tries += 1;
        if (tries > MAX_NAMES) throw refusePath(path, "changed while it was in use");
        await mkdir(folder.at(name)).catch((error: unknown) => {
          if (codeOf(error) !== "EEXIST") throw error;
        });
        todo.push(name);
        continue;
      }
      if (!stats.isDirectory()) throw refusePath(path, "leads through something that is not a folder");
      try {
        stack.push(await this.openFolder(folder.at(name), path, root));
      } catch (error) {
        // The name was replaced in the meantime: check it again.
        tries += 1;
        if (!["ELOOP", "ENOTDIR", "ENOENT"].includes(codeOf(error)) || tries > MAX_TRIES) throw error;
        todo.push(name);
      }
    }
  }

  /** Without /proc: checks that the opened file is the one at its real path, and that the path is inside. */
  async #assertInside(handle: FileHandle, at: string, path: string, root?: string): Promise<void> {
    const [real, top] = await Promise.all([realpath(at), root ?? realpath(this.#root)]);
    const [mine, theirs] = await Promise.all([handle.stat(), stat(real)]);
    const isInside = real === top || real.startsWith(top.endsWith(sep) ? top : top + sep);
    if (!isInside || mine.dev !== theirs.dev || mine.ino !== theirs.ino)
      throw refusePath(path, "leads out of the workspace");
  }
}

/** Like `lstat`, but returns undefined if nothing exists there. */
export async function lstatIfExists(at: string): Promise<Stats | undefined> {
  return lstat(at).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
}

export function pathNotFound(path: string): LoomError {
  return new LoomError("tool_failed", `${quotePath(path)} does not exist in the workspace`);
}

/** Translates a system error. Its own message could reveal paths outside the workspace. */
function explainFailure(error: unknown, path: string): unknown {
  if (error instanceof LoomError) return error;
  const code = codeOf(error);
  if (code === "") return error;
  if (code === "ENOENT") return pathNotFound(path);
  if (code === "ELOOP" || code === "ENOTDIR" || code === "ENXIO")
    return refusePath(path, "changed while it was in use");
  if (code === "ENAMETOOLONG") return refusePath(path, "contains a name that is too long");
  const why = REASONS[code] ?? `could not be accessed (${code})`;
  return new LoomError("tool_failed", `${quotePath(path)} ${why}`, {}, { cause: error });
}

const REASONS: { readonly [code: string]: string } = {
  EACCES: "could not be accessed: permission denied",
  EPERM: "could not be accessed: permission denied",
  EROFS: "could not be written: the disk is read-only",
  ENOSPC: "could not be written: the disk is full",
  EISDIR: "is a folder",
  ENOTEMPTY: "is a folder that is not empty",
  EEXIST: "already exists",
  EMFILE: "could not be opened: too many files are open",
};

function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}
