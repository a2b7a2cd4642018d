/** The description of all doors, for programs. */
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import { describeApi } from "../api/describe-api.ts";

/** The list is asked for late: this door is in it. */
export function createOpenApiDoor(listOperations: () => readonly AnyOperation[]): AnyOperation {
  return defineOperation({
    id: "getOpenApi",
    method: "GET",
    path: "/openapi.json",
    tag: "server",
    summary: "This document",
    action: "server.read",
    answers: { 200: { about: "OpenAPI 3.1", mediaTypes: ["application/json"] } },
    handle: ({ basePath, version }) => Response.json(describeApi(listOperations(), { basePath, version })),
  });
}
