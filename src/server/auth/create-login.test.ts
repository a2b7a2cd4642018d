import { expect, it, vi } from "vitest";
import type { RequestInfo } from "../guard/read-request-info.ts";
import type { AuthenticatedUser } from "./access.ts";
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
  return { asked, report, check, clock, principal, setAnswer: (next: typeof answer) => (answer = next) };
}

it("checks a connection at the interval, with the headers of its start", async () => {
  const { asked, check, principal } = await createFixture();
  expect(principal).toMatchObject({ kind: "user", id: "user:ann", owner: "ann", scopes: new Set(["read", "run"]) });
  // The first check is due between half the interval and the whole one.
  expect(await check(499)).toBe("valid");
  expect(asked).toHaveLength(1);
  expect(await check(501)).toBe("valid");
  expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual(Array(2).fill(`GET ${ORIGIN}/v1/ws`));
  const sent = asked.map(({ headers }) => `${headers.get("cookie")} ${headers.get("x-key")}`);
  expect(sent).toEqual(["sid=1 k", "sid=1 k"]);
});

it("checks connections that opened together at different times", async () => {
  const connections = await Promise.all(Array.from({ length: 100 }, () => createFixture()));
  const countChecked = async (ms: number): Promise<number> => {
    await Promise.all(connections.map(({ check }) => check(ms)));
    return connections.filter(({ asked }) => asked.length === 2).length;
  };
  const early = await countChecked(750);
  expect([early > 0, early < 100, await countChecked(250)]).toEqual([true, true, 100]);
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

it("waits for a check that is due, for an action that must not use an old result", async () => {
  const { asked, clock, principal, setAnswer } = await createFixture();
  const confirm = async () => (await principal?.login?.confirm())?.code ?? "valid";
  expect([await confirm(), asked.length]).toEqual(["valid", 1]);
  setAnswer(async () => undefined);
  clock.now += 1000;
  expect([await confirm(), await confirm(), asked.length]).toEqual(["unauthorized", "unauthorized", 2]);
});

it("refuses actions while the user cannot be checked, before the connection ends", async () => {
  const { clock, principal, setAnswer, check } = await createFixture();
  const confirm = async () => (await principal?.login?.confirm())?.code ?? "valid";
  setAnswer(() => Promise.reject(new Error("no database")));
  clock.now = 1000;
  expect([await confirm(), await confirm(), principal?.login?.check()]).toEqual([
    "login_unavailable",
    "login_unavailable",
    undefined,
  ]);
  setAnswer(async () => ({ owner: "ann", scopes: ["read", "run"] }));
  expect([await check(), await confirm()]).toEqual(["valid", "valid"]);
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
