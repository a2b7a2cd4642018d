import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { deflateRawSync, deflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callOf, createToolRecorder, run } from "../../../test/tool-recorder.ts";
import type { JsonObject } from "../../protocol/index.ts";
import type { ToolOutcome } from "../tool.ts";
import { createFetchTool, type FetchToolOptions } from "./create-fetch-tool.ts";

let server: Server;
let port: number;
let handler: (request: IncomingMessage, response: ServerResponse) => void;
let requests: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(`${request.method} ${request.headers.host} ${request.url}`);
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Calls the tool as an agent does; the user approves everything. */
async function use(input: JsonObject, options: FetchToolOptions = {}): Promise<ToolOutcome & { asked: JsonObject[] }> {
  requests = [];
  const asked: JsonObject[] = [];
  const host = createToolRecorder({
    requestApproval: async ({ arguments: given }) => {
      asked.push(given);
      return { decision: "approved", arguments: given };
    },
  });
  const allow = [`a.test:${port}`, `b.test:${port}`];
  const resolve = async () => [{ address: "127.0.0.1", family: 4 }];
  const tool = createFetchTool({ allow, resolve, ...options });
  return { ...(await run(tool, host, callOf(input, "http_fetch"))), asked };
}

const page = (path = "/"): string => `http://a.test:${port}${path}`;

describe("the method", () => {
  it("is an allowed one, also by default", async () => {
    handler = (_, response) => response.end("ok");
    expect((await use({ url: page() })).asked).toEqual([]);
    expect(requests).toEqual([`GET a.test:${port} /`]);
    await use({ url: page() }, { methods: ["HEAD"] });
    expect(requests).toEqual([`HEAD a.test:${port} /`]);
    const { asked } = await use({ url: page() }, { methods: ["POST"] });
    expect(asked).toEqual([{ url: page(), method: "POST" }]);
    expect(requests).toEqual([`POST a.test:${port} /`]);
    await use({ url: page() }, { methods: ["POST", "GET"] });
    expect(requests).toEqual([`GET a.test:${port} /`]);
    expect(await use({ url: page(), method: "GET" }, { methods: ["HEAD"] })).toMatchObject({
      errorCode: "invalid_arguments",
    });
    expect(() => createFetchTool({ methods: [] })).toThrow(/methods/);
  });

  it("is shown for approval as it is sent, like the URL", async () => {
    const seen: unknown[] = [];
    const approval = (input: object): boolean => {
      seen.push(input);
      return false;
    };
    await use({ url: `HTTP://A.test:${port}/x/../y` }, { approval });
    expect(seen).toEqual([{ url: page("/y"), method: "GET" }]);
  });
});

describe("responses", () => {
  it("to HEAD requests have no text", async () => {
    handler = (_, response) => response.writeHead(200, { "content-type": "application/pdf" }).end();
    expect(await use({ url: page(), method: "HEAD" })).toMatchObject({ isError: false, result: "[HTTP 200]" });
    expect(await use({ url: page() })).toMatchObject({ isError: false, result: "[HTTP 200]" });
  });

  it.each(["gzip", "deflate", "br"])("without a body may declare a compression: %s", async (coding) => {
    handler = (_, response) =>
      response.writeHead(200, { "content-type": "text/plain", "content-encoding": coding }).end();
    expect(await use({ url: page() })).toMatchObject({ isError: false, result: "[HTTP 200]" });
  });

  it.each([
    ["with a header", deflateSync],
    ["without", deflateRawSync],
  ])("can be deflated %s", async (_, compress) => {
    const text = "a text ".repeat(10_000);
    handler = (_request, response) => {
      const bytes = compress(text);
      response.writeHead(200, { "content-type": "text/plain", "content-encoding": "deflate" });
      response.write(bytes.subarray(0, 2));
      setImmediate(() => response.end(bytes.subarray(2)));
    };
    const { result } = await use({ url: page() }, { maxResultCharacters: 100_000 });
    expect(result).toBe(text);
  });
});

describe("a redirect of a request with a body", () => {
  const sent = { method: "POST", body: "the user's words" };
  const redirect = (status: number, host: string) => (request: IncomingMessage, response: ServerResponse) => {
    if (request.url !== "/") return void response.end("got it");
    return void response.writeHead(status, { location: `http://${host}:${port}/next` }).end();
  };

  it.each([307, 308])("stays on the approved host: %s", async (status) => {
    handler = redirect(status, "b.test");
    expect(await use({ url: page(), ...sent }, { methods: ["POST"] })).toMatchObject({ errorCode: "url_refused" });
    expect(requests).toEqual([`POST a.test:${port} /`]);
    handler = redirect(status, "a.test");
    expect(await use({ url: page(), ...sent }, { methods: ["POST"] })).toMatchObject({ isError: false });
    expect(requests).toEqual([`POST a.test:${port} /`, `POST a.test:${port} /next`]);
  });

  it("may lead to another host as a GET", async () => {
    handler = redirect(303, "b.test");
    expect(await use({ url: page(), ...sent }, { methods: ["POST"] })).toMatchObject({ isError: false });
    expect(requests).toEqual([`POST a.test:${port} /`, `GET b.test:${port} /next`]);
  });
});
