// The page: serves only its files, with security headers and compression, and responds 503 until it is built.
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { createPage } from "./create-page.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-page-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const SCRIPT = "console.log('页');\n".repeat(200);
const FONT = Uint8Array.of(1, 2, 3, 4);
mkdirSync(join(folder, "page/assets/deep"), { recursive: true });
writeFileSync(join(folder, "page/index.html"), "<!doctype html><title>Loom</title>");
writeFileSync(join(folder, "page/assets/index-1.js"), SCRIPT);
writeFileSync(join(folder, "page/assets/font-2.woff2"), FONT);
writeFileSync(join(folder, "page/assets/odd-3.xyz"), "?");
const INLINE = 'draw("</style>");\n';
writeFileSync(join(folder, "page/assets/frame.html"), `<!doctype html><script type="module">${INLINE}</script>`);
writeFileSync(join(folder, "page/assets/deep/hidden.js"), "hidden");
writeFileSync(join(folder, "secret.txt"), "secret");
symlinkSync(join(folder, "secret.txt"), join(folder, "page/assets/link.txt"));

const page = createPage({ folder: join(folder, "page") });
const ask = (path: string, headers: { readonly [name: string]: string } = {}, method = "GET") =>
  page(new Request(`http://x${path}`, { headers, method }));

describe("the page", () => {
  it.each(["/", "/agents/", "/a/b/"])("is served at %s, revalidated, with a strict policy", async (path) => {
    const response = await ask(path);
    expect(await response.text()).toContain("<title>Loom</title>");
    const headers = Object.fromEntries(response.headers);
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      vary: "accept-encoding",
    });
    expect(headers["content-security-policy"]).toContain("default-src 'none'; script-src 'self';");
    expect(headers["content-security-policy"]).toContain("require-trusted-types-for 'script'");
    expect(headers["content-security-policy"]).not.toMatch(/unsafe|\*|https?:/);
    expect(headers["permissions-policy"]).toContain("camera=()");
  });

  it("lets its own page frame a document, which runs its inline script in a sandbox and loads nothing", async () => {
    const frame = await ask("/agents/assets/frame.html", { "accept-encoding": "gzip" });
    expect(Object.fromEntries(frame.headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "x-frame-options": "SAMEORIGIN",
      "content-security-policy": [
        "default-src 'none'",
        `script-src 'sha256-${createHash("sha256").update(INLINE).digest("base64")}'`,
        "style-src 'unsafe-inline'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
        "sandbox allow-scripts",
      ].join("; "),
    });
    expect((await ask("/")).headers.get("content-security-policy")).toContain("frame-src 'self';");
  });

  it("has immutable files with media types", async () => {
    const script = await ask("/agents/assets/index-1.js");
    expect(await script.text()).toBe(SCRIPT);
    expect(Object.fromEntries(script.headers)).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "public, max-age=31536000, immutable",
      "content-length": String(Buffer.byteLength(SCRIPT)),
    });
    expect(script.headers.has("content-encoding")).toBe(false);
    expect((await ask("/assets/odd-3.xyz")).headers.get("content-type")).toBe("application/octet-stream");
  });

  it.each([
    ["br", brotliDecompressSync],
    ["gzip", gunzipSync],
  ])("is compressed once with %s if accepted", async (encoding, unpack) => {
    const [first, second] = await Promise.all(
      [1, 2].map(() => ask("/assets/index-1.js", { "accept-encoding": encoding })),
    );
    expect(first?.headers.get("content-encoding")).toBe(encoding);
    const bytes = Buffer.from(await (first as Response).arrayBuffer());
    expect(bytes.length).toBe(Number(first?.headers.get("content-length")));
    expect(bytes.length).toBeLessThan(SCRIPT.length / 4);
    expect(unpack(bytes).toString()).toBe(SCRIPT);
    expect(Buffer.from(await (second as Response).arrayBuffer())).toEqual(bytes);
  });

  it("does not compress compressed files", async () => {
    const font = await ask("/assets/font-2.woff2", { "accept-encoding": "br" });
    expect([font.headers.get("content-encoding"), font.headers.get("vary")]).toEqual([null, null]);
    expect(new Uint8Array(await font.arrayBuffer())).toEqual(FONT);
  });

  it("responds 304 for the same encoding only", async () => {
    const br = { "accept-encoding": "br" };
    const etag = (await ask("/", br)).headers.get("etag") ?? "";
    const again = await ask("/", { ...br, "if-none-match": `"x", W/${etag}` });
    expect([again.status, again.body, again.headers.get("etag")]).toEqual([304, null, etag]);
    expect(again.headers.get("content-security-policy")).toContain("'none'");
    expect((await ask("/", { "if-none-match": etag })).status).toBe(200);
  });

  it("responds to HEAD without a body", async () => {
    const head = await ask("/assets/index-1.js", {}, "HEAD");
    expect([head.status, head.body, head.headers.get("content-length")]).toEqual([
      200,
      null,
      String(Buffer.byteLength(SCRIPT)),
    ]);
  });

  it.each([
    "/assets/none.js",
    "/assets",
    "/index.html",
    "/assets/index.html",
    "/secret.txt",
    "/assets/../secret.txt",
    "/assets/..%2f..%2fsecret.txt",
    "/assets/%2e%2e/secret.txt",
    "/assets/..\\..\\secret.txt",
    "/assets/deep/hidden.js",
    "/deep/hidden.js",
    "/assets/link.txt",
    "/assets/index-1.js%00",
    "/__proto__/toString",
  ])("responds 404 for %s", async (path) => {
    const response = await ask(path);
    expect(response.status).toBe(404);
    expect(await response.text()).not.toContain("secret");
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  it("responds 503 with instructions until it is built", async () => {
    const laterFolder = join(folder, "later");
    const later = createPage({ folder: laterFolder });
    const missing = await later(new Request("http://x/"));
    expect([missing.status, missing.headers.get("content-type")]).toEqual([503, "text/plain; charset=utf-8"]);
    expect(await missing.text()).toContain("npm run build:page");
    mkdirSync(join(laterFolder, "assets"), { recursive: true });
    expect((await later(new Request("http://x/"))).status).toBe(503);
    // The files appear in any order; the page needs all of them.
    const built = '<script type="module" src="./assets/index-1.js"></script>';
    writeFileSync(join(laterFolder, "index.html"), built);
    expect((await later(new Request("http://x/"))).status).toBe(503);
    writeFileSync(join(laterFolder, "assets/index-1.js"), SCRIPT);
    expect(await (await later(new Request("http://x/"))).text()).toBe(built);
    expect((await later(new Request("http://x/assets/index-1.js"))).status).toBe(200);
  });
});
