// Secrets in any part of a request, and in errors, do not appear in the log or the metrics, even at the most detailed
// log level.
import { request } from "node:http";
import { describe, expect } from "vitest";
import { createLogger, createNotifier, createReporter } from "../../src/cli/serve/create-logger.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { createLogObserver, createPrometheusObserver } from "../../src/observe/index.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { testThreat } from "./test-threat.ts";
import { openServer } from "./open-server.ts";
import { sendRaw, writeHead } from "./raw-request.ts";

const PART = "Q0FOQVJZQ0FOQVJZQ0FOQVJZQ0FOQVJZQ0FOQVJZQ0E";
/** Each secret contains the marker that the tests search for. */
const SECRETS: { readonly [kind: string]: string } = {
  token: `loom_tok_0123456789ab_${PART}`,
  link: `loom_shr_0123456789ab_${PART}`,
  cookie: `loom_ses_0123456789ab_${PART}`,
  ticket: `loom_tkt_0123456789ab_${PART}`,
  jwt: `eyJhbGciOiJSUzI1NiJ9.${PART}.${PART}`,
  provider: `sk-proj-${PART}`,
  environment: `plain/${PART}+==`,
};

type HeaderValues = { readonly [name: string]: string };

function openTerminal(): { readonly terminal: Terminal; readonly lines: string[] } {
  const lines: string[] = [];
  const terminal = {
    warn: (text: string) => void lines.push(text),
    writeError: (text: string) => void lines.push(text),
    styleError: (_style: unknown, text: string) => text,
  };
  return { terminal: terminal as unknown as Terminal, lines };
}

/** A server with the command's logger. Requests with `x-break` fail with the secret in the error. */
async function createFixture(format: "plain" | "json", secret: string) {
  const { terminal, lines } = openTerminal();
  const env = { SERVICE_PASSWORD: SECRETS["environment"] ?? "" };
  const logger = await createLogger({ "log-level": "debug", "log-format": format }, terminal, env);
  const metrics = await createPrometheusObserver();
  const { port } = await openServer({
    observers: [await createLogObserver({ logger, contents: true }), metrics],
    meter: metrics,
    register: metrics.register,
    onError: createReporter(logger, true),
    notify: createNotifier(logger, { origins: [], hosts: [] }),
    auth: { credentials: openCredentials(":memory:") },
    debug: true,
    authorize: ({ caller }) => {
      if (!caller.headers.has("x-break")) return;
      const deep = new Error(`inner error ${secret}`, { cause: new Error(`innermost error ${secret}`) });
      throw new Error(`GET ${caller.url.href} with ${secret} failed`, { cause: deep });
    },
  });
  return { port, lines, logger, metrics };
}

function ask(port: number, method: string, path: string, headers: HeaderValues, body?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, method, path, headers, agent: false }, (response) => {
      let text = "";
      response.on("data", (piece) => (text += String(piece)));
      response.on("end", () => resolve(text));
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

describe.each(["plain", "json"] as const)("the %s log", (format) => {
  for (const [kind, secret] of Object.entries(SECRETS))
    testThreat("secrets-in-logs", `contains no ${kind}`, async ({ attempt }) => {
      const { port, lines, logger, metrics } = await createFixture(format, secret);
      const places: readonly [where: string, method: string, path: string, headers: HeaderValues, body?: string][] = [
        ["Authorization", "GET", "/v1/sessions", { authorization: `Bearer ${secret}` }],
        ["another scheme", "GET", "/v1/sessions", { authorization: secret }],
        ["Cookie", "GET", "/v1/sessions", { cookie: `loom-session-${port}=${secret}; a=b` }],
        ["?ticket=", "GET", `/v1/sessions/s/events?ticket=${encodeURIComponent(secret)}`, {}],
        ["another query parameter", "GET", `/v1/sessions?q=${encodeURIComponent(secret)}`, {}],
        ["the path", "GET", `/v1/sessions/${encodeURIComponent(secret)}`, {}],
        ["Origin", "GET", "/v1/sessions", { origin: `https://${secret}.example` }],
        ["X-Request-Id", "GET", "/v1/sessions", { "x-request-id": secret.slice(0, 64) }],
        ["Idempotency-Key", "POST", "/v1/runs", { "idempotency-key": secret }, '{"message":"x"}'],
        ["the body", "POST", "/v1/auth/sign-in", { "content-type": "application/json" }, `{"credential":"${secret}"}`],
        ["an invalid body", "POST", "/v1/runs", { "content-type": "application/json" }, `{"message":"${secret}`],
      ];
      for (const [where, method, path, headers, body] of places)
        for (const how of [{}, { "x-break": "1" }] as const)
          await attempt(`${where}${"x-break" in how ? ", with an internal error" : ""}`, async () => {
            const answer = await ask(port, method, path, { ...headers, ...how }, body);
            expect(lines.join("\n")).not.toContain(PART.slice(0, 20));
            // A response may repeat the requested path and request ID, nothing else.
            if (where !== "the path" && where !== "X-Request-Id") expect(answer).not.toContain(PART.slice(0, 20));
          });
      // Host names are compared in lower case; these kinds are not recognizable in lower case.
      if (kind !== "jwt" && kind !== "environment")
        await attempt("Host", async () => {
          await sendRaw(port, writeHead("GET / HTTP/1.1", [["host", `${secret}.example`]]));
          expect(lines.join("\n").toLowerCase()).not.toContain(PART.slice(0, 20).toLowerCase());
        });
      await attempt("other log calls", () => {
        logger.debug({ header: `Bearer ${secret}`, list: ["a", { b: secret }] }, `seen ${secret}, and ${secret}`);
        expect(lines.join("\n")).not.toContain(PART.slice(0, 20));
      });
      await attempt("the metrics", async () => {
        expect(await metrics.register.metrics()).not.toContain(PART.slice(0, 20));
      });
      await attempt("the log is not empty", () => {
        expect(lines.join("\n")).toContain("[redacted]");
        expect(lines.join("\n")).toMatch(/failed/);
      });
    });
});
