import { describe, expect, it } from "vitest";
import { Ajv2020 } from "ajv/dist/2020.js";
import { type JsonObject, LoomError } from "../../protocol/index.ts";
import { describeProblem } from "./refuse-request.ts";
import { describeApi, listPathParams } from "./describe-api.ts";
import { OPERATIONS } from "../operations.ts";
import { API_SHAPES } from "./shapes.ts";

interface Described {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: { readonly content: { readonly [type: string]: JsonObject } };
  readonly responses: { readonly [status: string]: { readonly description?: string; readonly $ref?: string } };
}

const api = describeApi(OPERATIONS, { basePath: "", version: "1.2.3" });
const paths = api["paths"] as unknown as { readonly [path: string]: { readonly [method: string]: Described } };
const described = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

/** Every `$ref` in a value. */
function listRefs(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === "$ref" ? [String(inner)] : listRefs(inner)));
}

function follow(ref: string): unknown {
  return ref
    .replace(/^#\//, "")
    .split("/")
    .reduce<unknown>((value, key) => (value as { readonly [key: string]: unknown } | undefined)?.[key], api);
}

describe("the OpenAPI document", () => {
  it("has version 3.1 and the required fields", () => {
    expect(api).toMatchObject({ openapi: "3.1.0", info: { title: "Loom", version: "1.2.3" }, servers: [{ url: "/" }] });
    expect(Object.keys(api).toSorted()).toEqual(["components", "info", "openapi", "paths", "servers", "tags"]);
    expect(describeApi([], { basePath: "/agents", version: "1" })).toMatchObject({ servers: [{ url: "/agents" }] });
  });

  it("contains every operation once, with a unique id", () => {
    expect(described.map(({ operation }) => operation.operationId)).toHaveLength(OPERATIONS.length);
    expect(new Set(OPERATIONS.map(({ id }) => id)).size).toBe(OPERATIONS.length);
    expect(new Set(OPERATIONS.map(({ method, path }) => `${method} ${path}`)).size).toBe(OPERATIONS.length);
  });

  it("has no dangling references", () => {
    const refs = listRefs(api);
    expect(refs.length).toBeGreaterThan(5);
    expect(refs.filter((ref) => follow(ref) === undefined)).toEqual([]);
  });

  it("declares every path parameter, and none twice", () => {
    for (const { path, operation } of described) {
      expect(path.startsWith("/")).toBe(true);
      const { parameters = [] } = operation;
      const inPath = parameters.filter((parameter) => parameter.in === "path");
      expect(inPath.map(({ name }) => name)).toEqual(listPathParams(path));
      expect(inPath.every(({ required }) => required)).toBe(true);
      expect(new Set(parameters.map((parameter) => `${parameter.in} ${parameter.name}`)).size).toBe(parameters.length);
    }
    for (const { path, params = {} } of OPERATIONS)
      expect(Object.keys(params).filter((name) => !listPathParams(path).includes(name))).toEqual([]);
  });

  it("describes every response, and has a default error response", () => {
    for (const { operation } of described) {
      const { default: refusal, ...answers } = operation.responses;
      expect(refusal).toEqual({ $ref: "#/components/responses/Problem" });
      expect(Object.keys(answers).length).toBeGreaterThan(0);
      for (const [status, { description }] of Object.entries(answers)) {
        expect(status).toMatch(/^[1-5]\d\d$/);
        expect(description).toMatch(/\S/);
      }
    }
  });

  it("has no request body for GET and DELETE", () => {
    const bodies = described.filter(({ operation }) => operation.requestBody !== undefined);
    expect(bodies.filter(({ method }) => method === "get" || method === "delete")).toEqual([]);
  });

  it("has valid schemas, and its problem schema matches what the server sends", () => {
    const ajv = new Ajv2020({ strict: false });
    const { schemas } = api["components"] as { readonly schemas: { readonly [name: string]: JsonObject } };
    for (const name of Object.keys(API_SHAPES))
      if (schemas[name] !== undefined) expect(ajv.validateSchema(schemas[name])).toBe(true);
    const isProblem = ajv.compile(schemas["Problem"] as JsonObject);
    const { problem } = describeProblem({ report: () => "1" }, new LoomError("not_found", "no", { path: "/x" }));
    expect(isProblem(problem)).toBe(true);
    expect(isProblem(describeProblem({ report: () => "1" }, new Error("no")).problem)).toBe(true);
    expect(isProblem({ ...problem, id: undefined })).toBe(false);
    expect(isProblem({ ...problem, code: 1 })).toBe(false);
  });
});
