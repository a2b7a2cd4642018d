import { expect, it, vi } from "vitest";
import type { RequestInfo } from "../guard/read-request-info.ts";
import type { AuthenticatedUser } from "./auth-options.ts";
import { createLogin } from "./create-login.ts";

const ORIGIN = "https://app.example.com";
const REQUEST: RequestInfo = {
  method: "UPGRADE",
  headers: new Headers({ cookie: "sid=1", origin: ORIGIN, "x-key": "k" }),
  url: new URL(`${ORIGIN}/v1/ws`),
  address: "192.0.2.7",
  origin: ORIGIN,
};

/** A login whose next answers a test sets, at a time that it moves. */
async function createFixture() {
  const clock = { now: 0 };
  let answer = async (): Promise<AuthenticatedUser | undefined> => ({ owner: "ann", scopes: ["read", "run"] });
  const asked: Request[] = [];
  const report = vi.fn();
  const login = createLogin({
    authenticate: (request) => {
      asked.push(request);
      return answer();
    },
    recheckMs: 1000,
    now: () => clock.now,
    report,
  });
  const principal = await login(REQUEST);
  /** Lets a check begin and end, and returns the state after it. */
  const check = async (ms = 1000): Promise<string> => {
    clock.now += ms;
    principal?.login?.check();
    await new Promise((resolve) => setImmediate(resolve));
    return principal?.login?.check()?.code ?? "valid";
  };
  return { asked, report, check, principal, setAnswer: (next: typeof answer) => (answer = next) };
}

it("checks a connection at the interval, with the headers of its start", async () => {
  const { asked, check, principal } = await createFixture();
  expect(principal).toMatchObject({ kind: "user", id: "user:ann", owner: "ann", scopes: new Set(["read", "run"]) });
  expect(await check(999)).toBe("valid");
  expect(asked).toHaveLength(1);
  expect(await check(1)).toBe("valid");
  expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual(Array(2).fill(`GET ${ORIGIN}/v1/ws`));
  const sent = asked.map(({ headers }) => `${headers.get("cookie")} ${headers.get("x-key")}`);
  expect(sent).toEqual(["sid=1 k", "sid=1 k"]);
});

it.each<[string, AuthenticatedUser | undefined, string]>([
  ["the same user", { owner: "ann", scopes: ["run", "read"] }, "valid"],
  ["no user", undefined, "unauthorized"],
  ["another user", { owner: "bob", scopes: ["read", "run"] }, "unauthorized"],
  ["fewer scopes", { owner: "ann", scopes: ["read"] }, "unauthorized"],
  ["other scopes", { owner: "ann", scopes: ["read", "write"] }, "unauthorized"],
  ["more scopes", { owner: "ann", scopes: ["read", "run", "write"] }, "unauthorized"],
])("compares the user with the one of the start: %s", async (_name, user, state) => {
  const { check, setAnswer } = await createFixture();
  setAnswer(async () => user);
  expect(await check()).toBe(state);
});

it("ends a connection that cannot be checked three times, and reports an outage once", async () => {
  const { check, report, setAnswer } = await createFixture();
  const fail = () => Promise.reject(new Error("down"));
  setAnswer(fail);
  expect([await check(), await check()]).toEqual(["valid", "valid"]);
  setAnswer(async () => ({ owner: "ann", scopes: ["read", "run"] }));
  expect(await check()).toBe("valid");
  setAnswer(fail);
  expect([await check(), await check(), await check()]).toEqual(["valid", "valid", "login_unavailable"]);
  expect(report).toHaveBeenCalledTimes(2);
});
