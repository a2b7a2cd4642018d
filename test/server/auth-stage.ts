// A server that asks who comes in, without a socket: asked as a browser's own page would ask it, unless told otherwise.
import { onTestFinished, vi } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import type { Auth } from "../../src/server/api/shapes.generated.ts";
import type { AuthOptions } from "../../src/server/auth/auth-options.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { createLoomHandler } from "../../src/server/loom-handler.ts";
import { checkAnswer } from "./check-answer.ts";

export const HERE = "http://localhost:10338";

export interface Asked {
  readonly method?: string;
  readonly body?: unknown;
  readonly bearer?: string;
  readonly cookie?: string;
  readonly origin?: string | null;
}

export function setAuthStage(auth: Partial<AuthOptions> | "open" = {}) {
  const credentials = openCredentials(":memory:");
  const log = new MemoryLog();
  const agents = { main: agent({ model: new ScriptedModel([{ text: "Hello." }]) }) };
  const handler = createLoomHandler({
    log,
    agents,
    ...(auth === "open" ? {} : { auth: { credentials, ...auth }, origins: ["https://app.example.com"] }),
  });
  onTestFinished(async () => {
    await handler.close({ graceMs: 0 });
    credentials.close();
  });
  const ask = async (path: string, { method, body, bearer, cookie, origin = HERE }: Asked = {}): Promise<Response> => {
    const headers = new Headers();
    if (origin !== null) headers.set("origin", origin);
    if (bearer !== undefined) headers.set("authorization", `Bearer ${bearer}`);
    if (cookie !== undefined) headers.set("cookie", cookie);
    if (body !== undefined) headers.set("content-type", "application/json");
    const init = { method: method ?? (body === undefined ? "GET" : "POST"), headers };
    const request = new Request(`${HERE}${path}`, body === undefined ? init : { ...init, body: JSON.stringify(body) });
    const response = await handler.fetch(request);
    await checkAnswer(request.method, path.replace(/\?.*$/, ""), response);
    return response;
  };
  const signIn = (credential: string, asked: Asked = {}): Promise<Response> =>
    ask("/v1/auth/sign-in", { ...asked, body: { credential } });
  const whoIs = async (asked: Asked = {}): Promise<Auth> => (await (await ask("/v1/auth", asked)).json()) as Auth;
  return { credentials, log, ask, signIn, whoIs };
}

export function takeCookie(response: Response): string {
  return response.headers.getSetCookie().at(-1)?.split(";", 1)[0] ?? "";
}

export const codeOf = async (response: Response): Promise<readonly unknown[]> => [
  response.status,
  ((await response.json()) as { readonly code: string }).code,
];

/** To be called before a stage is set: then time goes on by so much more whenever it is told to. */
export function setClock(): (ms: number) => void {
  const now = Date.now.bind(Date);
  let shift = 0;
  const spy = vi.spyOn(Date, "now").mockImplementation(() => now() + shift);
  onTestFinished(() => spy.mockRestore());
  return (ms) => {
    shift += ms;
  };
}
