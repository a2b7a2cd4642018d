/** All operations of the server, in the order of the OpenAPI document. */
import type { AnyOperation } from "./operation.ts";

export const OPERATIONS: readonly AnyOperation[] = [];
