/**
 * One folder and what is below it. It finds the place a path means without ever leaving the folder, and knows no tool
 * and no model.
 *
 * A path is walked one name at a time, and each folder on the way is held open. Where the system shows open files under
 * /proc, the next name is looked up in the folder that is held, not in whatever has its name by now: so nobody can swap
 * a link in between the check and the use. Elsewhere the walk goes by names, and what was opened is compared afterwards
 * with what the real path says; a writer who is quick enough may still misplace a write there.
 *
 * Links are read here and never followed by the system: one that stays inside is walked, one that leads out is refused.
 */
import { constants, existsSync, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, realpath, stat } from "node:fs/promises";
import { isAbsolute, join, resolve, sep } from "node:path";
import { LoomError } from "../../protocol/index.ts";
import { cutRoot, MAX_NAMES, parsePath, quotePath, refusePath } from "./parse-path.ts";

const MAX_LINKS = 16;
/** How often a name may change its kind under our hands in one walk. */
const MAX_TRIES = 8;

// Windows lacks some of these, which then count as 0.
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

export interface OpenFolder {
  readonly handle: FileHandle;
  /** How the system is told of a name in this folder. */
  at(name: string): string;
}

/** Where a path leads. The folder stays open while the place is in use. */
export interface Place {
  readonly folder: OpenFolder;
  /** In that folder; undefined where the path means the folder itself. */
  readonly name: string | undefined;
  /** What is there; undefined where nothing is. */
  readonly stats: Stats | undefined;
  /** The last name was a link, and has been walked. */
  readonly isLinked: boolean;
}

export interface WalkOptions {
  /** Make the folders that are missing on the way. */
  readonly makeFolders?: boolean;
  /** Stop at a link that is the last name. */
  readonly keepLink?: boolean;
}

export class Workspace {
  readonly #root: string;
  readonly #byHandle: boolean;

  constructor(root: string, byHandle: boolean = existsSync("/proc/self/fd")) {
    this.#root = resolve(root);
    this.#byHandle = byHandle;
  }

  /** The one spelling of a path: relative, `.` for the workspace itself. Links are not followed. */
  async normalise(path: string): Promise<string> {
    const { roots } = await this.#findRoot();
    return parsePath(path, roots).join("/") || ".";
  }

  /** Lets `use` work at the place that `path` means, and closes what was opened for it. */
  async visit<T>(path: string, options: WalkOptions, use: (place: Place) => Promise<T>): Promise<T> {
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
      throw new LoomError("path_refused", "The workspace folder does not exist.");
    });
    return { root, roots: [this.#root, root].map((each) => each.replaceAll(sep, "/")) };
  }

  /** Opens a folder, and no link to one. */
  async openFolder(at: string, path: string, root?: string): Promise<OpenFolder> {
    const handle = await open(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
    try {
      if (!(await handle.stat()).isDirectory()) throw refusePath(path, "leads through something that is no folder");
      if (!this.#byHandle) await this.#compare(handle, at, path, root);
    } catch (error) {
      await handle.close();
      throw error;
    }
    const base = this.#byHandle ? `/proc/self/fd/${handle.fd}` : at;
    return { handle, at: (name) => join(base, name) };
  }

  /** Opens a file to read: no link, no device, no pipe. */
  async openFile(at: string, path: string): Promise<FileHandle> {
    // A pipe without a writer would block a thread for ever.
    const handle = await open(at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      if (!(await handle.stat()).isFile()) throw refusePath(path, "is no ordinary file");
      if (!this.#byHandle) await this.#compare(handle, at, path);
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
      makeFolders,
      keepLink,
    }: WalkOptions & { path: string; root: string; roots: readonly string[] },
  ): Promise<Place> {
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
      const stats = await lookAt(folder.at(name));
      if (stats?.isSymbolicLink() === true && !(keepLink === true && todo.length === 0)) {
        links += 1;
        if (links > MAX_LINKS) throw refusePath(path, "leads through too many links");
        isLinked ||= todo.length === 0;
        const target = (await readlink(folder.at(name))).replaceAll(sep, "/");
        const inner = isAbsolute(target) ? cutRoot(target, roots) : target;
        if (inner === undefined) throw refusePath(path, "leads out of the workspace");
        // An absolute link starts again from the top.
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
        if (makeFolders !== true) throw missing(path);
        tries += 1;
        if (tries > MAX_NAMES) throw refusePath(path, "changes while it is used");
        await mkdir(folder.at(name)).catch((error: unknown) => {
          if (codeOf(error) !== "EEXIST") throw error;
        });
        todo.push(name);
        continue;
      }
      if (!stats.isDirectory()) throw refusePath(path, "leads through something that is no folder");
      try {
        stack.push(await this.openFolder(folder.at(name), path, root));
      } catch (error) {
        // Something else has its name by now: look again.
        tries += 1;
        if (!["ELOOP", "ENOTDIR", "ENOENT"].includes(codeOf(error)) || tries > MAX_TRIES) throw error;
        todo.push(name);
      }
    }
  }

  /** Without /proc: what was opened must be what lies at its real path, and that must be inside. */
  async #compare(handle: FileHandle, at: string, path: string, root?: string): Promise<void> {
    const [real, top] = await Promise.all([realpath(at), root ?? realpath(this.#root)]);
    const [mine, theirs] = await Promise.all([handle.stat(), stat(real)]);
    const isInside = real === top || real.startsWith(top.endsWith(sep) ? top : top + sep);
    if (!isInside || mine.dev !== theirs.dev || mine.ino !== theirs.ino)
      throw refusePath(path, "leads out of the workspace");
  }
}

/** What lies there, links not followed; undefined where nothing does. */
export async function lookAt(at: string): Promise<Stats | undefined> {
  return lstat(at).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
}

export function missing(path: string): LoomError {
  return new LoomError("tool_failed", `There is no ${quotePath(path)} in the workspace.`);
}

/** Words for what the system said. Its own message would name paths that are nobody's business. */
function explainFailure(error: unknown, path: string): unknown {
  if (error instanceof LoomError) return error;
  const code = codeOf(error);
  if (code === "") return error;
  if (code === "ENOENT") return missing(path);
  if (code === "ELOOP" || code === "ENOTDIR" || code === "ENXIO") return refusePath(path, "changed while it was used");
  if (code === "ENAMETOOLONG") return refusePath(path, "has a name in it that is too long");
  const why = REASONS[code] ?? `could not be used (${code})`;
  return new LoomError("tool_failed", `${quotePath(path)} ${why}.`, {}, { cause: error });
}

const REASONS: { readonly [code: string]: string } = {
  EACCES: "may not be used: permission denied",
  EPERM: "may not be used: permission denied",
  EROFS: "may not be written: the disk is read-only",
  ENOSPC: "could not be written: the disk is full",
  EISDIR: "is a folder",
  ENOTEMPTY: "is a folder that is not empty",
  EEXIST: "exists already",
  EMFILE: "could not be opened: too many files are open",
};

function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}
