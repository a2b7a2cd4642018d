// Checks responses against the OpenAPI document: an undeclared status, or a body with the wrong media type or shape,
// fails the test that sent the request.
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { expect } from "vitest";
import { describeApi } from "../../src/server/api/describe-api.ts";
import { OPERATIONS } from "../../src/server/operations.ts";

const ajv = new Ajv2020({ strict: false });
ajv.addSchema({ $id: "api", ...describeApi(OPERATIONS, { basePath: "", version: "0.0.0" }) });
const validators = new Map<string, ValidateFunction>();

const endpoints = OPERATIONS.map((operation) => ({
  ...operation,
  pattern: new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
}));

/** Ignores paths and methods that are not in the document. */
export async function checkResponse(method: string, path: string, response: Response): Promise<void> {
  const endpoint = endpoints.find(({ method: own, pattern }) => own === method && pattern.test(path));
  if (endpoint === undefined) return;
  const { status, headers } = response;
  const where = `${method} ${endpoint.path} ${status}`;
  const declared =
    endpoint.responses[status] ?? (status >= 400 ? { description: "", shape: "Problem" as const } : undefined);
  expect(declared, `${where} is not declared`).toBeDefined();
  const [type = ""] = (headers.get("content-type") ?? "").split(";");
  if (declared?.mediaTypes?.includes(type) === true || response.body === null) return;
  if (declared?.mediaTypes?.some((each) => each.includes("*")) === true) return;
  expect(type, where).toBe(declared?.shape === "Problem" ? "application/problem+json" : "application/json");
  const ref = `api#/components/schemas/${declared?.shape}`;
  const validate = validators.get(ref) ?? ajv.compile({ $ref: ref });
  validators.set(ref, validate);
  const isValid = validate(await response.clone().json());
  expect(isValid ? [] : validate.errors, where).toEqual([]);
}
