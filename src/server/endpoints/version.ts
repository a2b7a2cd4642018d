/** What runs here. */
import { DIALECT_NAMES } from "../../dialects/index.ts";
import { defineOperation } from "../api/operation.ts";
import type { Version } from "../api/shapes.generated.ts";

export const getVersion = defineOperation({
  id: "getVersion",
  method: "GET",
  path: "/version",
  tag: "server",
  summary: "Name and version of what runs here",
  action: "server.read",
  answers: { 200: { about: "Name, version, dialects", shape: "Version" } },
  handle: ({ version }) => {
    const answer: Version = { name: "loom-agent", version, dialects: DIALECT_NAMES };
    return Response.json(answer);
  },
});
