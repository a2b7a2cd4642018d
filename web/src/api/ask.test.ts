// Questions to the server: addresses, refusals, and what comes of a line that breaks.
import { afterEach, describe, expect, it, vi } from "vitest";
import { describeFailure } from "./api-error.ts";
import { ask, formatAddress } from "./ask.ts";

afterEach(() => vi.unstubAllGlobals());

function answer(response: () => Response | Promise<Response>) {
  const fetch = vi.fn((_address: string, _init: RequestInit) => Promise.resolve().then(response));
  vi.stubGlobal("fetch", fetch);
  return fetch;
}

const failureOf = async (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => "none",
    (error: unknown) => Object.values(describeFailure(error)).join(": "),
  );

describe("ask", () => {
  it("stays below the page, and leaves out what is not given", () => {
    expect(formatAddress("/v1/sessions", { q: "a&b", limit: 5, after: undefined })).toBe(
      "./v1/sessions?q=a%26b&limit=5",
    );
    expect(formatAddress("/v1/agents")).toBe("./v1/agents");
  });

  it("sends JSON and a key, and reads JSON or nothing", async () => {
    const fetch = answer(() => Response.json({ title: "x" }));
    expect(await ask("/v1/sessions/a", { method: "PATCH", body: { title: "x" }, key: "k" })).toEqual({ title: "x" });
    expect(fetch.mock.calls[0]).toMatchObject([
      "./v1/sessions/a",
      {
        method: "PATCH",
        body: '{"title":"x"}',
        headers: { "content-type": "application/json", "idempotency-key": "k" },
      },
    ]);
    answer(() => new Response(null, { status: 204 }));
    expect(await ask("/v1/sessions/a", { method: "DELETE" })).toBeUndefined();
  });

  it("tells a refusal by its code and its words", async () => {
    answer(() => Response.json({ code: "unknown_session", detail: "there is none", id: "e1" }, { status: 404 }));
    expect(await failureOf(ask("/v1/sessions/a"))).toBe("unknown_session: there is none: e1");
  });

  it.each([
    ["a page of a proxy", () => new Response("<h1>Bad gateway</h1>", { status: 502 }), "bad_answer: HTTP 502"],
    ["no JSON", () => new Response("hello"), "bad_answer: the answer is no JSON"],
    ["a line that broke", () => Promise.reject(new TypeError("x")), "connection_lost: the server does not answer"],
  ])("tells of %s", async (_what, response, expected) => {
    answer(response);
    expect(await failureOf(ask("/v1/agents"))).toBe(expected);
  });

  it("tells what is no longer wanted apart", async () => {
    const controller = new AbortController();
    answer(() => {
      controller.abort();
      return Promise.reject(new Error("aborted"));
    });
    expect(await failureOf(ask("/v1/agents", { signal: controller.signal }))).toBe("aborted: it is no longer wanted");
  });
});
