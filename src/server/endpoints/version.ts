/** Version endpoint. */
import { DIALECT_NAMES } from "../../dialects/index.ts";
import { defineOperation } from "../api/operation.ts";
import type { Version } from "../api/shapes.generated.ts";

export const getVersion = defineOperation({
  id: "getVersion",
  method: "GET",
  path: "/version",
  tag: "server",
  summary: "Get the name and version of the server",
  action: "server.read",
  responses: { 200: { description: "Name, version and dialects", shape: "Version" } },
  handle: ({ version }) => {
    const answer: Version = { name: "loom-agent", version, dialects: DIALECT_NAMES };
    return Response.json(answer);
  },
});
