/**
 * How a door over HTTP is declared: what it is asked with, what it answers, and what it does. The declaration is what
 * requests are checked against, what the OpenAPI document is written from, and what the server mounts.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Action, Caller } from "../guard/authorize.ts";
import type { ServerCore } from "../server-core.ts";
import type { ApiShapeMap, ApiShapeName } from "./shapes.generated.ts";

/**
 * The Node objects under a request, where there are some: streams are written past the layers between. What every answer
 * bears is set on `outgoing` before a door is asked.
 */
export interface NodeBindings {
  readonly incoming?: IncomingMessage;
  readonly outgoing?: ServerResponse;
}

export interface ApiCall<Q extends ApiShapeName, B extends ApiShapeName> {
  readonly request: Request;
  readonly url: URL;
  readonly caller: Caller;
  /** Of the path, decoded: `id` is a session's. */
  readonly params: { readonly [name: string]: string };
  /** Checked, with numbers and switches read. */
  readonly query: ApiShapeMap[Q];
  /** Checked. */
  readonly body: ApiShapeMap[B];
  readonly node: NodeBindings;
  /** Aborted when whoever asked is gone. */
  readonly signal: AbortSignal;
}

export interface AnswerDeclaration {
  readonly about: string;
  /** Of a body in JSON. */
  readonly shape?: ApiShapeName;
  /** Of another body. */
  readonly mediaTypes?: readonly string[];
}

export interface Operation<Q extends ApiShapeName = "Nothing", B extends ApiShapeName = "Nothing"> {
  /** Names it in the OpenAPI document: `startRun`. */
  readonly id: string;
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** As `/v1/sessions/{id}/runs`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: { readonly [name: string]: string };
  readonly headers?: { readonly [name: string]: string };
  readonly query?: Q;
  /** A body in JSON. Where there is none, and `takes` neither, a body is not read. */
  readonly body?: B;
  /** False: the body may be left out, and is then `{}`. */
  readonly isBodyRequired?: boolean;
  /** Media types of a body that the operation reads itself. */
  readonly takes?: readonly string[];
  /** Asked before `handle`, with the session that the path's `id` names. */
  readonly action: Action;
  /** True: it may also end what goes on, and is asked while a server is about to stop, whatever its action begins. */
  readonly isLate?: boolean;
  readonly answers: { readonly [status: number]: AnswerDeclaration };
  handle(core: ServerCore, call: ApiCall<Q, B>): Promise<Response> | Response;
}

/** Some operation: what a list of them holds. */
export type AnyOperation = Operation<ApiShapeName, ApiShapeName>;

/** Lets the compiler find the types of `query` and `body` from their names. */
export function defineOperation<Q extends ApiShapeName = "Nothing", B extends ApiShapeName = "Nothing">(
  operation: Operation<Q, B>,
): AnyOperation {
  return operation;
}
