/** The description of all doors, for programs. */
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import { describeApi } from "../api/describe-api.ts";
import type { ServerCore } from "../server-core.ts";

/** The list is asked for late: this door is in it. */
export function createOpenApiEndpoint(listOperations: () => readonly AnyOperation[]): AnyOperation {
  /** Anybody may ask for it, so it is written once for each server. */
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
    summary: "This document",
    action: "public",
    answers: { 200: { about: "OpenAPI 3.1", mediaTypes: ["application/json"] } },
    handle: (core) => new Response(write(core), { headers: { "content-type": "application/json" } }),
  });
}
