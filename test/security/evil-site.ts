// A site of somebody who means harm, on a port of this machine and under every name that leads there.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface EvilSite {
  readonly port: number;
  close(): Promise<void>;
}

const PAGE = "<!doctype html><html lang='en'><meta charset='utf-8'><title>Kittens</title><body></body></html>";
const BOXED = PAGE.replace(
  "</body>",
  "<iframe sandbox='allow-scripts allow-forms allow-popups' src='/'></iframe></body>",
);

/**
 * `/` is a page for scripts, `/quiet` the same that hides where it comes from, `/boxed` has it in a frame that has no
 * origin, and `/away?to=` sends whoever asks somewhere else, with all that was brought.
 */
export async function openEvilSite(): Promise<EvilSite> {
  const server = createServer(({ url = "/", headers }, response) => {
    const { pathname, searchParams } = new URL(url, "http://evil.example");
    const to = searchParams.get("to");
    // Whatever it takes for a browser to go along.
    response.setHeader("access-control-allow-origin", headers.origin ?? "*");
    response.setHeader("access-control-allow-credentials", "true");
    response.setHeader("access-control-allow-headers", "content-type");
    if (pathname === "/quiet") response.setHeader("referrer-policy", "no-referrer");
    if (pathname === "/away" && to !== null) return void response.writeHead(307, { location: to }).end();
    if (pathname === "/favicon.ico") return void response.writeHead(204).end();
    response.writeHead(200, { "content-type": "text/html" }).end(pathname === "/boxed" ? BOXED : PAGE);
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
