import { APICallError } from "@ai-sdk/provider";
import { inspect } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { classifyFault, readRetryAfter } from "./model-fault.ts";
import { redactSecrets, registerSecrets } from "./redact-secrets.ts";
import { ScriptedModel } from "./scripted-model.ts";

const model = new ScriptedModel([]);

describe("readRetryAfter", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  it.each([
    [{ "retry-after": "3" }, 3000],
    [{ "Retry-After": "0.5" }, 500],
    [{ "retry-after-ms": "250", "retry-after": "9" }, 250],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:07 GMT" }, 7000],
    [{ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "-4" }, undefined],
    [{ "retry-after-ms": "NaN", "retry-after": "2" }, 2000],
    [{}, undefined],
    [undefined, undefined],
  ])("reads %j", (headers, ms) => {
    expect(readRetryAfter(headers, now)).toBe(ms);
  });
});

describe("classifyFault", () => {
  const call = (fields: object): APICallError =>
    new APICallError({
      message: "no",
      url: "http://h/v1?key=abcdef",
      requestBodyValues: { secret: "prompt" },
      ...fields,
    });

  it.each([
    [call({ statusCode: 429 }), true],
    [call({ statusCode: 429, isRetryable: false }), false],
    [call({ statusCode: 400 }), false],
    [call({ statusCode: 418, isRetryable: true }), true],
    [{ statusCode: 503, message: "plain" }, true],
    [Object.assign(new Error("x"), { cause: Object.assign(new Error("y"), { code: "ECONNREFUSED" }) }), true],
    [new Error("x"), false],
  ])("classifies %o as retryable: %s", (error, mayRetry) => {
    expect(classifyFault(error, "request", model).mayRetry).toBe(mayRetry);
  });

  it("drops the request and the address from the cause", () => {
    const { error } = classifyFault(call({ statusCode: 500 }), "request", model);
    const shown = inspect(error, { depth: 20, showHidden: true });
    expect(shown).not.toContain("prompt");
    expect(shown).not.toContain("abcdef");
    expect(error.cause).toMatchObject({ name: "AI_APICallError" });
  });

  it.each(["request", "stream"] as const)("reports a response that breaks after its headers as a cut: %s", (place) => {
    const cause = new TypeError("terminated");
    const { error, mayRetry } = classifyFault(
      call({ message: "Failed to process successful response", statusCode: 200, cause }),
      place,
      model,
    );
    expect(error).toMatchObject({
      code: "model_stream_cut",
      message: expect.stringMatching(/: terminated$/) as string,
    });
    expect(mayRetry).toBe(true);
  });

  it("survives cyclic causes", () => {
    const error = new Error("ring");
    error.cause = error;
    expect(classifyFault(error, "stream", model).error.code).toBe("model_stream_cut");
  });

  it("reports a missing key as missing_key", () => {
    const error = Object.assign(new Error("OpenAI API key is missing."), { name: "AI_LoadAPIKeyError" });
    expect(classifyFault(error, "request", model).error.code).toBe("missing_key");
  });
});

describe("redactSecrets", () => {
  it.each([
    "Incorrect API key provided: sk-proj-abcdefghijkl. Look there.",
    "Incorrect API key provided: my-own-key-1.",
    'header {"x-api-key": "abcd1234"}',
    "Authorization: Bearer abcd.1234.efgh",
    "authorization=abcd1234efgh",
    "GET /v1?api_key=abcd1234&x=1",
    "gsk_abcdefghijkl is wrong",
    "Request cannot be constructed from a URL that includes credentials: http://me:abcd1234@h/v1/chat",
    "fetch https://abcd@h/v1 failed",
    "GET http://h/v1?key=abcd1234#x",
    "GET http://h/v1?v=1&sig=abcd1234",
    "token: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
  ])("removes the secret from %j", (text) => {
    const safe = redactSecrets(text);
    expect(safe).toContain("[key]");
    expect(safe).not.toMatch(/abcd|my-own|eyJ/);
  });

  it.each([
    "The API key is missing.",
    "max_tokens: Field required",
    "The model gpt-5 does not exist",
    "401 Unauthorized",
  ])("leaves %j unchanged", (text) => {
    expect(redactSecrets(text)).toBe(text);
  });

  it("removes the secrets of a model", () => {
    registerSecrets(model, ["correct horse", undefined, "ab"]);
    expect(redactSecrets("it was the correct horse, ab", model)).toBe("it was the [key], ab");
    expect(redactSecrets("a\n  b".padEnd(2000, "x"), model).length).toBeLessThan(510);
  });

  it("shows no part of a secret and no stack trace", () => {
    const long = `${" ".repeat(15_990)}correct horse-abcd1234`;
    registerSecrets(model, ["horse-abcd1234"]);
    expect(redactSecrets(long, model)).toBe("correct …");
    expect(redactSecrets("No.\n    at read (/home/me/x.js:1:2)\n    at y")).toBe("No.");
  });

  it("scans only the start of long texts", () => {
    const scans = vi.spyOn(String.prototype, "replaceAll");
    onTestFinished(() => scans.mockRestore());
    for (const text of [" ", "token ", "api_key: ", "bearer", "://", "a@", "?a=", "sk-"])
      redactSecrets(text.repeat(300_000));
    expect(scans).toHaveBeenCalled();
    for (const scanned of scans.mock.contexts) expect(String(scanned).length).toBeLessThan(20_000);
  });
});
