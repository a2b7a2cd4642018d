/**
 * The page in the browser, as it was built: one document and the files it loads, under whatever path it is mounted. The
 * addresses in it are relative, so it never needs to know that path.
 *
 * Invariant: nothing but files of the page is sent, and none of them may run, load or be framed by anything foreign.
 */
import { fileURLToPath } from "node:url";
import { SECURITY_HEADERS } from "../http/security-headers.ts";
import { chooseEncoding } from "./choose-encoding.ts";
import { type PageFiles, readPageFiles } from "./page-files.ts";

export interface PageOptions {
  /** Where the page was built; the page of this package when absent. */
  readonly folder?: string | undefined;
}

/** The same from the source and from what is built of it. */
const BUILT = fileURLToPath(new URL("../../../dist/page", import.meta.url));

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Those of sessions; what lies elsewhere comes through this server.
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types loom loom-chart",
].join("; ");

const PROTECTION: { readonly [name: string]: string } = { ...SECURITY_HEADERS, "content-security-policy": POLICY };

const NOT_BUILT = `The page is not built yet. In the folder of the package:

    npm run build:page

Then load this address again. The server works without it: its doors are below /v1.

页面尚未构建。请在软件包目录中运行上面的命令，然后刷新此地址。服务器本身不受影响，接口在 /v1 之下。
`;

/** Answers for the page at every path that ends in `/`, and for its files below `assets/`. */
export function createPage({ folder = BUILT }: PageOptions = {}): (request: Request) => Promise<Response> {
  let files: PageFiles | undefined;
  return async (request) => {
    // Looked for again until it is there: whoever builds it need not start the server again.
    files ??= readPageFiles(folder);
    if (files === undefined) return answerText(request, 503, NOT_BUILT);
    return serveFile(request, files);
  };
}

async function serveFile(request: Request, files: PageFiles): Promise<Response> {
  const name = nameOf(new URL(request.url).pathname);
  const file = files.get(name);
  if (file === undefined) return answerText(request, 404, "There is nothing here. 此处没有内容。\n");
  const encoding = file.isPackable ? chooseEncoding(request.headers.get("accept-encoding")) : "identity";
  const etag = `"${file.digest}${encoding === "identity" ? "" : `-${encoding}`}"`;
  const headers: { [name: string]: string } = {
    ...PROTECTION,
    etag,
    // A file's name has the digest of it: what is there never changes. The page itself does.
    "cache-control": name === "" ? "no-cache" : "public, max-age=31536000, immutable",
    ...(file.isPackable ? { vary: "accept-encoding" } : {}),
  };
  if (isKnown(request.headers.get("if-none-match"), etag)) return new Response(null, { status: 304, headers });
  const bytes = await file.read(encoding);
  headers["content-type"] = file.mediaType;
  headers["content-length"] = String(bytes.length);
  if (encoding !== "identity") headers["content-encoding"] = encoding;
  return new Response(request.method === "HEAD" ? null : bytes, { headers });
}

/** Whatever stands before it: the page is mounted anywhere. No name holds a slash of its own. */
function nameOf(path: string): string {
  if (path.endsWith("/")) return "";
  return path.split("/").slice(-2).join("/");
}

function isKnown(header: string | null, etag: string): boolean {
  return (header ?? "").split(",").some((each) => each.trim() === "*" || each.trim().replace(/^W\//, "") === etag);
}

function answerText({ method }: Request, status: number, text: string): Response {
  const headers = { ...PROTECTION, "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
  return new Response(method === "HEAD" ? null : text, { status, headers });
}
