/**
 * Declaration of an HTTP endpoint: its input, its responses and its handler. Requests are validated against it, the
 * OpenAPI document is generated from it, and the server mounts it.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller } from "../auth/authorize.ts";
import type { AuditAction, NoteAudit } from "../auth/audit/auditor.ts";
import type { Action } from "../auth/scopes.ts";
import type { UploadSlot } from "./gates.ts";
import type { ServerCore } from "./server-core.ts";
import type { ApiShapeMap, ApiShapeName } from "./shapes.generated.ts";

/**
 * The Node objects of a request, if the server runs on Node. Streams are written to `outgoing` directly; the common
 * response headers are set on it before the handler is called.
 */
export interface NodeBindings {
  readonly incoming?: IncomingMessage;
  readonly outgoing?: ServerResponse;
}

export interface ApiCall<Q extends ApiShapeName, B extends ApiShapeName> {
  readonly request: Request;
  readonly url: URL;
  readonly caller: Caller;
  /** Decoded path parameters; `id` is the session. */
  readonly params: { readonly [name: string]: string };
  /** Validated query, with numbers and booleans parsed. */
  readonly query: ApiShapeMap[Q];
  /** Validated JSON body. */
  readonly body: ApiShapeMap[B];
  readonly node: NodeBindings;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** For handlers that store files. Released when the handler returns. */
  readonly upload: UploadSlot;
  /** Adds to the entry of the audit log, if the operation has one. */
  readonly noteAudit: NoteAudit;
}

export interface ResponseDeclaration {
  readonly description: string;
  /** Shape of a JSON body. */
  readonly shape?: ApiShapeName;
  /** Media types of any other body. */
  readonly mediaTypes?: readonly string[];
}

export interface Operation<Q extends ApiShapeName = "Empty", B extends ApiShapeName = "Empty"> {
  /** Operation ID in the OpenAPI document, for example `startRun`. */
  readonly id: string;
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** Path template, for example `/v1/sessions/{id}/runs`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** Descriptions of path parameters. Default: `Id of the …`. */
  readonly params?: { readonly [name: string]: string };
  readonly headers?: { readonly [name: string]: string };
  readonly query?: Q;
  /** Shape of the JSON body. Without it and without `rawBodyTypes` the body is not read. */
  readonly body?: B;
  /**
   * True: the handler checks the body itself, which has more fields than the shape. Otherwise, below `/v1`, a field that the
   * shape does not have is refused. Default: false.
   */
  readonly hasOpenBody?: boolean;
  /** False: the body may be absent and is then `{}`. Default: true. */
  readonly isBodyRequired?: boolean;
  /**
   * True: the JSON body may be sent as `text/plain`, as clients do that set no content type. Pages of other sites can send
   * it without a preflight request; the check of the origin refuses them. Default: false.
   */
  readonly acceptsText?: boolean;
  /** True: the JSON body can have files in it, up to `maxInlineBytes`. Default: false. */
  readonly hasInlineFiles?: boolean;
  /** Media types of a body that the handler reads itself. */
  readonly rawBodyTypes?: readonly string[];
  /** Authorized before `handle`, for the session in the path parameter `id` if there is one. */
  readonly action: Action;
  /** The action in the audit log. The path parameters are its target. Default: not recorded. */
  readonly audit?: AuditAction;
  /** True: also accepted while the server shuts down, because it may end work. Default: false. */
  readonly isAllowedWhileClosing?: boolean;
  readonly responses: { readonly [status: number]: ResponseDeclaration };
  handle(core: ServerCore, call: ApiCall<Q, B>): Promise<Response> | Response;
}

/** An operation with any query and body. */
export type AnyOperation = Operation<ApiShapeName, ApiShapeName>;

/** An operation and its group in the OpenAPI document. */
export interface TaggedOperation extends AnyOperation {
  readonly tag: string;
}

/** Declares an operation and infers the types of `query` and `body` from their shape names. */
export function defineOperation<Q extends ApiShapeName = "Empty", B extends ApiShapeName = "Empty">(
  operation: Operation<Q, B>,
): AnyOperation {
  return operation;
}
