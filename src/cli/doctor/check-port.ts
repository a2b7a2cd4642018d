/** Checks whether the server can listen on its port, or already does. */
import { createServer } from "node:net";
import { isJsonObject } from "../../protocol/json.ts";
import { type DoctorFinding, report } from "./doctor-finding.ts";

const TIMEOUT_MS = 2000;

export async function checkPort(host: string, port: number): Promise<DoctorFinding> {
  const where = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const code = await tryToListen(host, port);
  switch (code) {
    case undefined:
      return report("port", "ok", `${where} is free`);
    case "EADDRINUSE":
      if (await isLoom(where)) return report("port", "ok", `a Loom server runs on ${where}`);
      return report(
        "port",
        "failed",
        `another program uses ${where}`,
        "stop it, or choose another port with --port or LOOM_PORT",
      );
    default: {
      const advice =
        code === "EACCES"
          ? "choose a port above 1023, or use a proxy (deploy/README.md)"
          : "choose an address of this machine with --host or LOOM_HOST";
      return report("port", "failed", `cannot listen on ${where} (${code})`, advice);
    }
  }
}

/** Returns the error code, or undefined if it worked. */
function tryToListen(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", ({ code, message }: NodeJS.ErrnoException) => resolve(code ?? message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** Whether a server of this package answers: with its name, or with a refusal in its form if it needs a token. */
async function isLoom(where: string): Promise<boolean> {
  try {
    const address = where.replace(/^0\.0\.0\.0:|^\[::\]:/, "127.0.0.1:");
    const response = await fetch(`http://${address}/version`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const answer: unknown = await response.json();
    if (!isJsonObject(answer)) return false;
    const { name, type } = answer;
    return response.ok ? name === "loom-agent" : typeof type === "string" && type.startsWith("urn:loom:problem:");
  } catch {
    return false;
  }
}
