/**
 * The files of a built page, read once: what is asked for is looked up among names that are known, so no address leads
 * out of the folder. Each packed form of a file is made when it is first wanted, and kept.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Encoding } from "./choose-encoding.ts";

export type FileBytes = Uint8Array<ArrayBuffer>;

export interface PageFile {
  readonly mediaType: string;
  /** Of its bytes; each packed form has its own, made of it. */
  readonly digest: string;
  readonly isPackable: boolean;
  /** The bytes in this form, which must be `identity` where it cannot be packed. */
  read(encoding: Encoding): FileBytes | Promise<FileBytes>;
}

/** By their addresses below the page: `""` is the page itself, `assets/…` everything else. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const INDEX = "index.html";
const ASSETS = "assets";

/** Nothing where the page was not built, or only in part: somebody builds it now. */
export function readPageFiles(folder: string): PageFiles | undefined {
  const files = readFolder(folder);
  const page = files?.get("")?.read("identity") as FileBytes | undefined;
  const named = new TextDecoder().decode(page).match(LOADED) ?? [];
  return named.every((name) => files?.has(name)) ? files : undefined;
}

/** What the page itself loads. */
const LOADED = /assets\/[^"'<>\s]+/g;

function readFolder(folder: string): PageFiles | undefined {
  try {
    const names = readdirSync(join(folder, ASSETS), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
    const assets = names.map((name) => [`${ASSETS}/${name}`, createFile(join(folder, ASSETS, name), name)] as const);
    return new Map([["", createFile(join(folder, INDEX), INDEX)], ...assets]);
  } catch (error) {
    if (NOT_THERE.has((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

const NOT_THERE: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);

function createFile(path: string, name: string): PageFile {
  const bytes: FileBytes = new Uint8Array(readFileSync(path));
  const [mediaType, isPackable] = MEDIA_TYPES.get(extname(name).toLowerCase()) ?? UNKNOWN;
  const packed = new Map<Encoding, Promise<FileBytes>>();
  return {
    mediaType,
    isPackable,
    digest: createHash("sha256").update(bytes).digest("base64url").slice(0, 27),
    read(encoding) {
      if (encoding === "identity" || !isPackable) return bytes;
      let made = packed.get(encoding);
      if (made === undefined) {
        made = PACKERS[encoding](bytes);
        packed.set(encoding, made);
        // Tried again by the next one who asks.
        made.catch(() => packed.delete(encoding));
      }
      return made;
    },
  };
}

const brotliAsync = promisify(brotliCompress);
const gzipAsync = promisify(gzip);

/** Somebody waits for the first: a step below the best costs a few per cent and a twentieth of the time. */
const PACKERS: { readonly [encoding in "br" | "gzip"]: (bytes: FileBytes) => Promise<FileBytes> } = {
  br: async (bytes) =>
    new Uint8Array(
      await brotliAsync(bytes, {
        params: { [constants.BROTLI_PARAM_QUALITY]: 6, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
      }),
    ),
  gzip: async (bytes) => new Uint8Array(await gzipAsync(bytes, { level: 7 })),
};

type Kind = readonly [mediaType: string, isPackable: boolean];

const UNKNOWN: Kind = ["application/octet-stream", false];

const MEDIA_TYPES: ReadonlyMap<string, Kind> = new Map([
  [".html", ["text/html; charset=utf-8", true]],
  [".js", ["text/javascript; charset=utf-8", true]],
  [".css", ["text/css; charset=utf-8", true]],
  [".json", ["application/json", true]],
  [".map", ["application/json", true]],
  [".svg", ["image/svg+xml", true]],
  [".txt", ["text/plain; charset=utf-8", true]],
  [".wasm", ["application/wasm", true]],
  [".png", ["image/png", false]],
  [".webp", ["image/webp", false]],
  [".ico", ["image/x-icon", false]],
  [".woff2", ["font/woff2", false]],
]);
