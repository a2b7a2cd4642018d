// A server with authentication, called without a socket. Requests come from the server's origin unless the test says
// otherwise.
import { onTestFinished, vi } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import type { Auth } from "../../src/server/api/shapes.generated.ts";
import type { AuthOptions } from "../../src/server/auth/access.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { createLoomHandler } from "../../src/server/loom-handler.ts";
import { checkResponse } from "./check-response.ts";

export const SERVER_ORIGIN = "http://localhost:10338";

export interface AuthRequest {
  readonly method?: string;
  readonly body?: unknown;
  readonly bearer?: string;
  readonly cookie?: string;
  readonly origin?: string | null;
}

export function createAuthFixture(auth: Partial<AuthOptions> | "open" = {}) {
  const credentials = openCredentials(":memory:");
  const log = new MemoryLog();
  const agents = { main: agent({ model: new ScriptedModel([{ text: "Hello." }]) }) };
  const handler = createLoomHandler({
    log,
    agents,
    ...(auth === "open"
      ? { allowPublic: true }
      : { auth: { credentials, ...auth }, origins: ["https://app.example.com"] }),
  });
  onTestFinished(async () => {
    await handler.close({ graceMs: 0 });
    await credentials.close();
  });
  const ask = async (
    path: string,
    { method, body, bearer, cookie, origin = SERVER_ORIGIN }: AuthRequest = {},
  ): Promise<Response> => {
    const headers = new Headers();
    if (origin !== null) headers.set("origin", origin);
    if (bearer !== undefined) headers.set("authorization", `Bearer ${bearer}`);
    if (cookie !== undefined) headers.set("cookie", cookie);
    if (body !== undefined) headers.set("content-type", "application/json");
    const init = { method: method ?? (body === undefined ? "GET" : "POST"), headers };
    const httpRequest = new Request(
      `${SERVER_ORIGIN}${path}`,
      body === undefined ? init : { ...init, body: JSON.stringify(body) },
    );
    const response = await handler.fetch(httpRequest);
    await checkResponse(httpRequest.method, path.replace(/\?.*$/, ""), response);
    return response;
  };
  const signIn = (credential: string, request: AuthRequest = {}): Promise<Response> =>
    ask("/v1/auth/sign-in", { ...request, body: { credential } });
  const getAuth = async (request: AuthRequest = {}): Promise<Auth> =>
    (await (await ask("/v1/auth", request)).json()) as Auth;
  return { credentials, log, ask, signIn, getAuth };
}

export function takeCookie(response: Response): string {
  return response.headers.getSetCookie().at(-1)?.split(";", 1)[0] ?? "";
}

export const codeOf = async (response: Response): Promise<readonly unknown[]> => [
  response.status,
  ((await response.json()) as { readonly code: string }).code,
];

/** Mocks the system clock. Call it before creating the fixture; the returned function advances the clock. */
export function createClock(): (ms: number) => void {
  const now = Date.now.bind(Date);
  let shift = 0;
  const spy = vi.spyOn(Date, "now").mockImplementation(() => now() + shift);
  onTestFinished(() => spy.mockRestore());
  return (ms) => {
    shift += ms;
  };
}
