// Uploads: success, refusal and invalid responses.
import { afterEach, expect, it, vi } from "vitest";
import { describeFailure } from "./api-error.ts";
import { upload } from "./upload.ts";

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
