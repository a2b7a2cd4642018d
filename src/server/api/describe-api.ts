/**
 * Generates the OpenAPI 3.1 document from the declared operations and shapes, which also validate requests. It does not
 * know any particular operation.
 */
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import type { JsonObject } from "../../protocol/index.ts";
import { shapeSchema } from "../../protocol/json-schema.ts";
import { PROBLEM_TYPE } from "./refuse-request.ts";
import type { AnyOperation, ResponseDeclaration, TaggedOperation } from "./operation.ts";
import { API_SHAPES } from "./shapes.ts";
import type { ApiShapeName } from "./shapes.generated.ts";

export interface DescribeApiOptions {
  readonly basePath: string;
  readonly version: string;
}

const DESCRIPTION = [
  "HTTP API for agent sessions: start runs, stream them live or replay them in any dialect, and control them.",
  "Three WebSocket endpoints are not part of this document: `/v1/ws` (many sessions on one socket), `/agentOS/v1/ws_stream` and `/openai/v1/responses`.",
].join("\n\n");

const SECURITY_SCHEMES: JsonObject = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "Token from `loom token create`, JWT, or secret of a share link",
  },
  cookie: {
    type: "apiKey",
    in: "cookie",
    name: "loom-session-10338",
    description: "Cookie set by signing in; the number in its name is the port the browser connects to",
  },
};
const SECURITY = Object.keys(SECURITY_SCHEMES).map((name) => ({ [name]: [] }));

export function describeApi(
  operations: readonly TaggedOperation[],
  { basePath, version }: DescribeApiOptions,
): JsonObject {
  const used = new Set<ApiShapeName>(["Problem"]);
  const paths: { [path: string]: { [method: string]: JsonObject } } = {};
  for (const operation of operations) {
    const methods = (paths[operation.path] ??= {});
    methods[operation.method.toLowerCase()] = describeOperation(operation, used);
  }
  const schemas = [...used].toSorted().map((name) => [name, describeShape(name)] as const);
  return {
    openapi: "3.1.0",
    info: { title: "Loom", version, description: DESCRIPTION, license: { name: "MIT", identifier: "MIT" } },
    servers: [{ url: basePath === "" ? "/" : basePath }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: Object.fromEntries(schemas),
      securitySchemes: SECURITY_SCHEMES,
      responses: {
        Problem: {
          description: "Error",
          headers: { "x-request-id": { description: "Id of the request", schema: { type: "string" } } },
          content: { [PROBLEM_TYPE]: { schema: refer("Problem") } },
        },
      },
    },
  };
}

function describeOperation(operation: TaggedOperation, used: Set<ApiShapeName>): JsonObject {
  const { id, tag, summary, description } = operation;
  const parameters = [...describePathParams(operation), ...describeQuery(operation), ...describeHeaders(operation)];
  const body = describeBody(operation, used);
  const responses = Object.entries(operation.responses).map(
    ([status, response]) => [status, describeResponse(response, used)] as const,
  );
  return dropUndefined({
    operationId: id,
    tags: [tag],
    summary,
    description,
    // Not required by a server without authentication, which OpenAPI cannot express.
    security: operation.action === "public" ? [] : SECURITY,
    ...(parameters.length === 0 ? {} : { parameters }),
    requestBody: body,
    responses: { ...Object.fromEntries(responses), default: { $ref: "#/components/responses/Problem" } },
  });
}

/** Names of the path parameters, in order. */
export function listPathParams(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
}

function describePathParams({ path, params = {} }: AnyOperation): JsonObject[] {
  return listPathParams(path).map((name) => ({
    name,
    in: "path",
    required: true,
    description: params[name] ?? (name === "id" ? "Id of the session" : `Id of the ${name}`),
    schema: { type: "string" },
  }));
}

function describeQuery({ query }: AnyOperation): JsonObject[] {
  if (query === undefined) return [];
  const { properties, required } = describeShape(query) as {
    readonly properties: { readonly [name: string]: JsonObject };
    readonly required: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: dropNull(schema),
    // Comma-separated values.
    ...(isList(schema) ? { style: "form", explode: false } : {}),
  }));
}

/** A query parameter can be absent but never null. */
function dropNull(schema: JsonObject): JsonObject {
  const { type, enum: values } = schema;
  return {
    ...schema,
    ...(Array.isArray(type) ? { type: type[0] as string } : {}),
    ...(Array.isArray(values) ? { enum: values.filter((value) => value !== null) } : {}),
  };
}

function isList({ type }: JsonObject): boolean {
  return type === "array" || (Array.isArray(type) && type[0] === "array");
}

function describeHeaders({ headers = {} }: AnyOperation): JsonObject[] {
  return Object.entries(headers).map(([name, description]) => ({
    name,
    in: "header",
    required: false,
    description,
    schema: { type: "string" },
  }));
}

function describeBody(operation: AnyOperation, used: Set<ApiShapeName>): JsonObject | undefined {
  const { body, rawBodyTypes, isBodyRequired = true } = operation;
  if (body !== undefined) {
    used.add(body);
    return { required: isBodyRequired, content: { "application/json": { schema: refer(body) } } };
  }
  if (rawBodyTypes === undefined) return undefined;
  return { required: true, content: Object.fromEntries(rawBodyTypes.map((mediaType) => [mediaType, {}])) };
}

function describeResponse(
  { description, shape, mediaTypes }: ResponseDeclaration,
  used: Set<ApiShapeName>,
): JsonObject {
  if (shape !== undefined) used.add(shape);
  const json =
    shape === undefined
      ? []
      : [[shape === "Problem" ? PROBLEM_TYPE : "application/json", { schema: refer(shape) }] as const];
  const others = (mediaTypes ?? []).map((mediaType) => [mediaType, {}] as const);
  const content = Object.fromEntries<JsonObject>([...json, ...others]);
  return { description, ...(Object.keys(content).length === 0 ? {} : { content }) };
}

function describeShape(name: ApiShapeName): JsonObject {
  const shape = API_SHAPES[name];
  if (shape === undefined) throw new TypeError(`No shape is named ${name}`);
  const { description: _, ...schema } = shapeSchema(name, shape, { tagged: false });
  return { ...schema, description: shape.about };
}

function refer(shape: ApiShapeName): JsonObject {
  return { $ref: `#/components/schemas/${shape}` };
}
