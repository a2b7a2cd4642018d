import { describe, expect, it, vi } from "vitest";
import { parseForm } from "../../protocol/form.ts";
import { isLoomError } from "../../protocol/index.ts";
import { readJsonBody } from "./read-json-body.ts";
import { HttpRefusal } from "./refuse-request.ts";

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

describe("a body", () => {
  it("is read, and a null is as if nothing were there", async () => {
    const text = JSON.stringify({ message: "hi", title: null, other: null, more: { a: null, b: [{ c: null, d: 1 }] } });
    expect(await send(text)).toEqual({ message: "hi", other: null, more: { b: [{ d: 1 }] } });
  });

  it.each(["application/json", "application/json; charset=utf-8", "application/merge-patch+json", "APPLICATION/JSON"])(
    "may be %s",
    async (type) => {
      expect(await send('{"message":"hi"}', { "content-type": type })).toEqual({ message: "hi" });
    },
  );

  it("may come without a type", async () => {
    expect(await send(new TextEncoder().encode('{"message":"hi"}'), {})).toEqual({ message: "hi" });
  });

  it.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain;application/json",
  ])("is not read as %s, which a form of another site may send", async (type) => {
    expect(await refusalOf(send('{"message":"hi"}', { "content-type": type }))).toEqual(["unsupported", 415]);
  });

  it.each(["identity", "IDENTITY", ""])("may be said to come as it is: %j", async (encoding) => {
    const headers = { "content-type": "application/json", "content-encoding": encoding };
    expect(await send('{"message":"hi"}', headers)).toEqual({ message: "hi" });
  });

  it("is not unpacked", async () => {
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    const error: unknown = await send('{"message":"hi"}', headers).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ refused: { code: "unsupported" }, options: { status: 415 } });
    expect((error as HttpRefusal).refused.message).toContain("`Content-Encoding: gzip`");
  });

  it.each([
    ["", "the body is missing"],
    ["{", "the body is no JSON"],
    ["[1]", "the body must be an object"],
    ["null", "the body must be an object"],
    ["{}", "`message` is missing; it must be a string"],
    ['{"message":1}', "`message` must be a string, not 1"],
    ['{"message":"hi","more":{"b":[{"c":1}]}}', "`more.b[0].c` must be a string, not 1"],
  ])("refuses %s", async (text, message) => {
    expect(await refusalOf(send(text))).toEqual(["invalid_request", message]);
  });

  it("is text in UTF-8", async () => {
    expect(await refusalOf(send(new Uint8Array([0x22, 0xff, 0x22])))).toEqual([
      "invalid_request",
      "the body is no text in UTF-8",
    ]);
  });

  it("may be absent where it need not be there", async () => {
    const request = new Request("http://h/", { method: "POST" });
    const form = parseForm("HTTP#reason?s");
    expect(await readJsonBody(request, { form, isRequired: false, maxBytes: 9, timeoutMs: 9, node: {} })).toEqual({});
  });

  it("has a limit, whether it tells its length or not", async () => {
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

  it("must come in time", async () => {
    let isCancelled = false;
    const stalled = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array([0x7b])),
      cancel: () => void (isCancelled = true),
    });
    expect((await refusalOf(send(stalled)))[0]).toBe("request_timeout");
    // The rest is waited for a little, in case the sender is only slow to stop.
    await vi.waitFor(() => expect(isCancelled).toBe(true));
  });

  it("may have been read by somebody else", async () => {
    const request = new Request("http://h/", { method: "POST", headers: { "content-type": "application/json" } });
    const incoming = { readableDidRead: true, body: { message: "parsed" } } as never;
    const read = { form: FORM, isRequired: true, maxBytes: 9, timeoutMs: 9, node: { incoming } };
    expect(await readJsonBody(request, read)).toEqual({ message: "parsed" });
  });
});
