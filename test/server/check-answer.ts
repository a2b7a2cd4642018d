// Holds answers against the OpenAPI document: a status that was not declared, a body of another type or of another shape
// than it says, fails the test that asked.
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { expect } from "vitest";
import { describeApi } from "../../src/server/api/describe-api.ts";
import { OPERATIONS } from "../../src/server/api/operations.ts";

const ajv = new Ajv2020({ strict: false });
ajv.addSchema({ $id: "api", ...describeApi(OPERATIONS, { basePath: "", version: "0.0.0" }) });
const validators = new Map<string, ValidateFunction>();

const doors = OPERATIONS.map((operation) => ({
  ...operation,
  pattern: new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
}));

/** Answers from paths and methods that no door has are let pass. */
export async function checkAnswer(method: string, path: string, response: Response): Promise<void> {
  const door = doors.find(({ method: own, pattern }) => own === method && pattern.test(path));
  if (door === undefined) return;
  const { status, headers } = response;
  const where = `${method} ${door.path} ${status}`;
  const declared = door.answers[status] ?? (status >= 400 ? { about: "", shape: "Problem" as const } : undefined);
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
