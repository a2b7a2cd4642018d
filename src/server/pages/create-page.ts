/**
 * Serves the built web page: one document, the files it loads, and sandboxed documents for its frames. All URLs in it are relative, so it works under any
 * path.
 *
 * Invariant: serves only files of the page, with a content security policy that blocks all other sources and framing.
 */
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { matchesTag } from "../guard/request-headers.ts";
import { SECURITY_HEADERS } from "../guard/security-headers.ts";
import { chooseEncoding } from "./choose-encoding.ts";
import { type PageFiles, readPageFiles } from "./page-files.ts";

/** Options of `createPage`. */
export interface PageOptions {
  /** Folder of the built page. Default: the page of this package. */
  readonly folder?: string | undefined;
}

/** The same path from `src` and from `dist`. */
const BUILT = fileURLToPath(new URL("../../../dist/page", import.meta.url));

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Images of sessions; remote images are loaded through this server.
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  // The frame that draws diagrams. It cannot navigate to another host either.
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types loom loom-chart",
].join("; ");

const PROTECTION: { readonly [name: string]: string } = { ...SECURITY_HEADERS, "content-security-policy": POLICY };

/**
 * Headers of a document that the page shows in a frame: it runs its inline script, in an opaque origin, and makes no
 * request at all. Diagrams have inline styles.
 */
function protectFrame(document: string): { readonly [name: string]: string } {
  const script = /<script[^>]*>(.*)<\/script>/s.exec(document)?.[1] ?? "";
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${createHash("sha256").update(script).digest("base64")}'`,
    "style-src 'unsafe-inline'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    "sandbox allow-scripts",
  ];
  return { ...SECURITY_HEADERS, "content-security-policy": policy.join("; "), "x-frame-options": "SAMEORIGIN" };
}

const NOT_BUILT = `The page is not built yet. Run in the package folder:

    npm run build:page

Then reload. The API at /v1 works without the page.

页面尚未构建。请在软件包目录中运行上面的命令，然后刷新页面。/v1 下的 API 不受影响。
`;

/**
 * Returns a handler for the page, at every path that ends with `/`, and for its files below `assets/`. It responds 503
 * until the page is built.
 */
export function createPage({ folder = BUILT }: PageOptions = {}): (request: Request) => Promise<Response> {
  let files: PageFiles | undefined;
  return async (request) => {
    // Checked on every request until the page is built, so the server need not be restarted.
    files ??= readPageFiles(folder);
    if (files === undefined) return answerText(request, 503, NOT_BUILT);
    return serveFile(request, files);
  };
}

async function serveFile(request: Request, files: PageFiles): Promise<Response> {
  const name = nameOf(new URL(request.url).pathname);
  const file = files.get(name);
  if (file === undefined) return answerText(request, 404, "Not found. 未找到该页面。\n");
  const encoding = file.isCompressible ? chooseEncoding(request.headers.get("accept-encoding")) : "identity";
  const etag = `"${file.digest}${encoding === "identity" ? "" : `-${encoding}`}"`;
  const isFrame = name.endsWith(".html");
  const headers: { [name: string]: string } = {
    ...(isFrame ? protectFrame(new TextDecoder().decode(await file.read("identity"))) : PROTECTION),
    etag,
    // File names contain a digest, so their content never changes. Those of documents do not.
    "cache-control": name === "" || isFrame ? "no-cache" : "public, max-age=31536000, immutable",
    ...(file.isCompressible ? { vary: "accept-encoding" } : {}),
  };
  if (matchesTag(request.headers.get("if-none-match"), etag)) return new Response(null, { status: 304, headers });
  const bytes = await file.read(encoding);
  headers["content-type"] = file.mediaType;
  headers["content-length"] = String(bytes.length);
  if (encoding !== "identity") headers["content-encoding"] = encoding;
  return new Response(request.method === "HEAD" ? null : bytes, { headers });
}

/** Uses only the end of the path, because the page can be mounted anywhere; file names contain no slash. */
function nameOf(path: string): string {
  if (path.endsWith("/")) return "";
  return path.split("/").slice(-2).join("/");
}

function answerText({ method }: Request, status: number, text: string): Response {
  const headers = { ...PROTECTION, "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
  return new Response(method === "HEAD" ? null : text, { status, headers });
}
