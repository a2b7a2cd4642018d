/** Endpoint that serves the OpenAPI document. */
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import { describeApi } from "../api/describe-api.ts";
import type { ServerCore } from "../api/server-core.ts";

/** Takes a function because the list contains this operation itself. */
export function createOpenApiEndpoint(listOperations: () => readonly AnyOperation[]): AnyOperation {
  /** The document is public, so it is generated once per server and cached. */
  const texts = new WeakMap<ServerCore, string>();
  const write = (core: ServerCore): string => {
    const text = texts.get(core) ?? JSON.stringify(describeApi(listOperations(), core));
    texts.set(core, text);
    return text;
  };
  return defineOperation({
    id: "getOpenApi",
    method: "GET",
    path: "/openapi.json",
    tag: "server",
    summary: "Get this document",
    action: "public",
    responses: { 200: { description: "OpenAPI 3.1", mediaTypes: ["application/json"] } },
    handle: (core) => new Response(write(core), { headers: { "content-type": "application/json" } }),
  });
}
