/**
 * Reads the files of the built page once. Requests are looked up by known names, so no URL can leave the folder.
 * Compressed versions are created on first use and kept.
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
  /** Digest of the uncompressed bytes, for ETags. */
  readonly digest: string;
  readonly isCompressible: boolean;
  /** Returns the file in the given encoding; always uncompressed if the file is not compressible. */
  read(encoding: Encoding): FileBytes | Promise<FileBytes>;
}

/** By path relative to the page: `""` is the page, `assets/…` are its files. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const INDEX = "index.html";
const ASSETS = "assets";

/** Undefined if the page is not built, or only partly because a build is running. */
export function readPageFiles(folder: string): PageFiles | undefined {
  const files = readFolder(folder);
  const page = files?.get("")?.read("identity") as FileBytes | undefined;
  const named = new TextDecoder().decode(page).match(LOADED) ?? [];
  return named.every((name) => files?.has(name)) ? files : undefined;
}

/** Files that the page refers to. */
const LOADED = /assets\/[^"'<>\s]+/g;

function readFolder(folder: string): PageFiles | undefined {
  try {
    const names = readdirSync(join(folder, ASSETS), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
    const assets = names.map((name) => [`${ASSETS}/${name}`, createFile(join(folder, ASSETS, name), name)] as const);
    return new Map([["", createFile(join(folder, INDEX), INDEX)], ...assets]);
  } catch (error) {
    if (MISSING.has((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

const MISSING: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);

function createFile(path: string, name: string): PageFile {
  const bytes: FileBytes = new Uint8Array(readFileSync(path));
  const [mediaType, isCompressible] = MEDIA_TYPES.get(extname(name).toLowerCase()) ?? UNKNOWN;
  const compressed = new Map<Encoding, Promise<FileBytes>>();
  return {
    mediaType,
    isCompressible,
    digest: createHash("sha256").update(bytes).digest("base64url").slice(0, 27),
    read(encoding) {
      if (encoding === "identity" || !isCompressible) return bytes;
      let result = compressed.get(encoding);
      if (result === undefined) {
        result = COMPRESSORS[encoding](bytes);
        compressed.set(encoding, result);
        // The next request tries again.
        result.catch(() => compressed.delete(encoding));
      }
      return result;
    },
  };
}

const brotliAsync = promisify(brotliCompress);
const gzipAsync = promisify(gzip);

/** The first request waits for the compression, so the levels are below the maximum: slightly larger, much faster. */
const COMPRESSORS: { readonly [encoding in "br" | "gzip"]: (bytes: FileBytes) => Promise<FileBytes> } = {
  br: async (bytes) =>
    new Uint8Array(
      await brotliAsync(bytes, {
        params: { [constants.BROTLI_PARAM_QUALITY]: 6, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
      }),
    ),
  gzip: async (bytes) => new Uint8Array(await gzipAsync(bytes, { level: 7 })),
};

type MediaTypeEntry = readonly [mediaType: string, isCompressible: boolean];

const UNKNOWN: MediaTypeEntry = ["application/octet-stream", false];

const MEDIA_TYPES: ReadonlyMap<string, MediaTypeEntry> = new Map([
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
