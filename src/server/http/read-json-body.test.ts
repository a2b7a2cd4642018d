import { describe, expect, it, vi } from "vitest";
import { parseForm } from "../../protocol/form.ts";
import { isLoomError } from "../../protocol/index.ts";
import { readJsonBody } from "./read-json-body.ts";
import { HttpRefusal } from "../api/refuse-request.ts";

const FORM = parseForm("HTTP#message:s title?s more?{a?s b?[{c?s}}");

function send(body: BodyInit | null, headers: HeadersInit = { "content-type": "application/json" }, isRequired = true) {
  const request = new Request("http://h/", { method: "POST", body, headers, duplex: "half" } as RequestInit);
  return readJsonBody(request, { form: FORM, isRequired, maxBytes: 200, timeoutMs: 40, node: {} });
}

async function refusalOf(work: Promise<unknown>): Promise<readonly unknown[]> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof HttpRefusal) return [error.refused.code, error.options.status];
  return isLoomError(error) ? [error.code, error.message] : [error];
}

describe("the JSON body", () => {
  it("is parsed without nulls in optional fields", async () => {
    const text = JSON.stringify({ message: "hi", title: null, other: null, more: { a: null, b: [{ c: null, d: 1 }] } });
    expect(await send(text)).toEqual({ message: "hi", other: null, more: { b: [{ d: 1 }] } });
  });

  it.each(["application/json", "application/json; charset=utf-8", "application/merge-patch+json", "APPLICATION/JSON"])(
    "is accepted as %s",
    async (type) => {
      expect(await send('{"message":"hi"}', { "content-type": type })).toEqual({ message: "hi" });
    },
  );

  it("is accepted without a content type", async () => {
    expect(await send(new TextEncoder().encode('{"message":"hi"}'), {})).toEqual({ message: "hi" });
  });

  it.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain;application/json",
  ])("is rejected as %s, which a cross-site form can send", async (type) => {
    expect(await refusalOf(send('{"message":"hi"}', { "content-type": type }))).toEqual(["unsupported", 415]);
  });

  it.each(["identity", "IDENTITY", ""])("is accepted with content encoding %j", async (encoding) => {
    const headers = { "content-type": "application/json", "content-encoding": encoding };
    expect(await send('{"message":"hi"}', headers)).toEqual({ message: "hi" });
  });

  it("is rejected if compressed", async () => {
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    const error: unknown = await send('{"message":"hi"}', headers).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ refused: { code: "unsupported" }, options: { status: 415 } });
    expect((error as HttpRefusal).refused.message).toContain("`Content-Encoding: gzip`");
  });

  it.each([
    ["", "The request body is missing"],
    ["{", "The request body is not valid JSON"],
    ["[1]", "The request body must be a JSON object"],
    ["null", "The request body must be a JSON object"],
    ["{}", "`message` is missing; it must be a string"],
    ['{"message":1}', "`message` must be a string, not 1"],
    ['{"message":"hi","more":{"b":[{"c":1}]}}', "`more.b[0].c` must be a string, not 1"],
  ])("is rejected if it is %s", async (text, message) => {
    expect(await refusalOf(send(text))).toEqual(["invalid_request", message]);
  });

  it("is rejected if it is not UTF-8", async () => {
    expect(await refusalOf(send(new Uint8Array([0x22, 0xff, 0x22])))).toEqual([
      "invalid_request",
      "The request body is not valid UTF-8",
    ]);
  });

  it("may be absent if it is optional", async () => {
    const request = new Request("http://h/", { method: "POST" });
    const form = parseForm("HTTP#reason?s");
    expect(await readJsonBody(request, { form, isRequired: false, maxBytes: 9, timeoutMs: 9, node: {} })).toEqual({});
  });

  it("is limited in size with and without a content length", async () => {
    const long = JSON.stringify({ message: "x".repeat(300) });
    expect((await refusalOf(send(long)))[0]).toBe("body_too_large");
    let given = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        given += 50;
        controller.enqueue(new Uint8Array(50).fill(32));
      },
    });
    expect((await refusalOf(send(endless)))[0]).toBe("body_too_large");
    expect(given).toBeLessThan(1000);
  });

  it("must arrive in time", async () => {
    let isCancelled = false;
    const stalled = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array([0x7b])),
      cancel: () => void (isCancelled = true),
    });
    expect((await refusalOf(send(stalled)))[0]).toBe("request_timeout");
    // The rest is read briefly before the stream is cancelled.
    await vi.waitFor(() => expect(isCancelled).toBe(true));
  });

  it("does not wait for a slot forever if it is large", async () => {
    const body = JSON.stringify({ message: "x".repeat(300) });
    const request = new Request("http://h/", { method: "POST", body });
    const large = { maxBytes: 1000, enter: () => new Promise<void>(() => undefined) };
    const headers = { "content-type": "application/json" };
    const options = { form: FORM, isRequired: true, maxBytes: 200, timeoutMs: 40, node: {}, large };
    const reading = readJsonBody(new Request(request, { headers }), options);
    expect((await refusalOf(reading))[0]).toBe("request_timeout");
  });

  it("may have been parsed by another framework", async () => {
    const request = new Request("http://h/", { method: "POST", headers: { "content-type": "application/json" } });
    const incoming = { readableDidRead: true, body: { message: "parsed" } } as never;
    const read = { form: FORM, isRequired: true, maxBytes: 9, timeoutMs: 9, node: { incoming } };
    expect(await readJsonBody(request, read)).toEqual({ message: "parsed" });
  });
});
