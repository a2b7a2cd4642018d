// A web site of an attacker, reachable under every host name that resolves to this machine.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface EvilSite {
  readonly port: number;
  close(): Promise<void>;
}

const PAGE = "<!doctype html><html lang='en'><meta charset='utf-8'><title>Kittens</title><body></body></html>";
const SANDBOXED = PAGE.replace(
  "</body>",
  "<iframe sandbox='allow-scripts allow-forms allow-popups' src='/'></iframe></body>",
);

/**
 * Serves `/`, an empty page for scripts; `/no-referrer`, the same with `Referrer-Policy: no-referrer`; `/sandboxed`, a
 * page that shows `/` in a sandboxed frame with an opaque origin; and `/redirect?to=`, which redirects with 307.
 */
export async function openEvilSite(): Promise<EvilSite> {
  const server = createServer(({ url = "/", headers }, response) => {
    const { pathname, searchParams } = new URL(url, "http://evil.example");
    const to = searchParams.get("to");
    // Allow everything, so that only the Loom server decides.
    response.setHeader("access-control-allow-origin", headers.origin ?? "*");
    response.setHeader("access-control-allow-credentials", "true");
    response.setHeader("access-control-allow-headers", "content-type");
    if (pathname === "/no-referrer") response.setHeader("referrer-policy", "no-referrer");
    if (pathname === "/redirect" && to !== null) return void response.writeHead(307, { location: to }).end();
    if (pathname === "/favicon.ico") return void response.writeHead(204).end();
    response.writeHead(200, { "content-type": "text/html" }).end(pathname === "/sandboxed" ? SANDBOXED : PAGE);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
