// Requests to the server: URLs, error responses and connection failures.
import { afterEach, describe, expect, it, vi } from "vitest";
import { describeFailure } from "./api-error.ts";
import { formatUrl, requestJson, upload } from "./request.ts";

afterEach(() => vi.unstubAllGlobals());

function respondWith(response: () => Response | Promise<Response>) {
  const fetch = vi.fn((_address: string, _init: RequestInit) => Promise.resolve().then(response));
  vi.stubGlobal("fetch", fetch);
  return fetch;
}

const failureOf = async (request: Promise<unknown>): Promise<string> =>
  request.then(
    () => "none",
    (error: unknown) => Object.values(describeFailure(error)).join(": "),
  );

describe("requestJson", () => {
  it("builds relative URLs and omits undefined parameters", () => {
    expect(formatUrl("/v1/sessions", { q: "a&b", limit: 5, after: undefined })).toBe("./v1/sessions?q=a%26b&limit=5");
    expect(formatUrl("/v1/agents")).toBe("./v1/agents");
  });

  it("sends JSON with an idempotency key, and reads JSON or an empty response", async () => {
    const fetch = respondWith(() => Response.json({ title: "x" }));
    expect(await requestJson("/v1/sessions/a", { method: "PATCH", body: { title: "x" }, key: "k" })).toEqual({
      title: "x",
    });
    expect(fetch.mock.calls[0]).toMatchObject([
      "./v1/sessions/a",
      {
        method: "PATCH",
        body: '{"title":"x"}',
        headers: { "content-type": "application/json", "idempotency-key": "k" },
      },
    ]);
    respondWith(() => new Response(null, { status: 204 }));
    expect(await requestJson("/v1/sessions/a", { method: "DELETE" })).toBeUndefined();
  });

  it("throws the code, message and ID of an error response", async () => {
    respondWith(() => Response.json({ code: "unknown_session", detail: "not found", id: "e1" }, { status: 404 }));
    expect(await failureOf(requestJson("/v1/sessions/a"))).toBe("unknown_session: not found: e1");
  });

  it.each([
    ["a proxy error page", () => new Response("<h1>Bad gateway</h1>", { status: 502 }), "bad_answer: HTTP 502"],
    ["a response that is not JSON", () => new Response("hello"), "bad_answer: Invalid response from the server."],
    ["a broken connection", () => Promise.reject(new TypeError("x")), "connection_lost: No response from the server."],
  ])("reports %s", async (_what, response, expected) => {
    respondWith(response);
    expect(await failureOf(requestJson("/v1/agents"))).toBe(expected);
  });

  it("reports an aborted request as such", async () => {
    const controller = new AbortController();
    respondWith(() => {
      controller.abort();
      return Promise.reject(new Error("aborted"));
    });
    expect(await failureOf(requestJson("/v1/agents", { signal: controller.signal }))).toBe(
      "aborted: Request cancelled.",
    );
  });
});

afterEach(() => vi.unstubAllGlobals());

/** Responds as soon as the request is sent. */
function answerWith(status: number, responseText: string): void {
  class Request extends EventTarget {
    readonly upload = new EventTarget();
    readonly status = status;
    readonly responseText = responseText;
    open(): void {}
    setRequestHeader(): void {}
    abort(): void {}
    send(): void {
      this.dispatchEvent(new Event("load"));
    }
  }
  vi.stubGlobal("XMLHttpRequest", Request);
}

const send = (): Promise<unknown> => upload("/v1/knowledge", { name: "a" }, new Blob(["x"])).catch(describeFailure);

it("settles for every kind of response", async () => {
  answerWith(201, '{"blob_id":"b"}');
  expect(await send()).toEqual({ blob_id: "b" });
  answerWith(413, '{"code":"too_large","detail":"no"}');
  expect(await send()).toEqual({ code: "too_large", message: "no" });
  answerWith(200, "<h1>Sign in</h1>");
  expect(await send()).toMatchObject({ code: "bad_answer" });
});
