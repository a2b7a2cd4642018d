/** Translates errors of PostgreSQL and of its connections to LoomErrors. LoomErrors pass through unchanged. */
import type { ErrorCode } from "../protocol/error-codes.ts";
import { LoomError } from "../protocol/loom-error.ts";

/** Classes and codes of SQLSTATE after which the same request can succeed later, on another connection. */
const UNAVAILABLE = /^(?:08|57P|53300|25006|25P0[34])/;
/** Codes of SQLSTATE after which the same transaction can succeed at once. */
const TRANSIENT: ReadonlySet<string> = new Set(["40001", "40P01"]);
/** Errors of the package `pg` that have no code. */
const LOST =
  /^(?:Connection terminated|Client has encountered a connection error|timeout (?:expired|exceeded)|Query read timeout|The server does not)/;
const TIMEOUT = /^(?:Query read timeout|timeout exceeded when trying to connect)/;
/** Errors of name resolution and of sockets. */
const SOCKET = /^(?:E[A-Z]+)$/;

type CodeOfStates = readonly [states: RegExp, code: ErrorCode, about: string];

const FAILED: CodeOfStates = [/^/, "store_failed", "The database failed"];

const CODES: readonly CodeOfStates[] = [
  [/^53100/, "store_full", "The disk of the database is full"],
  [/^55P03/, "store_busy", "Another process has been writing for too long"],
  [/^XX00[12]/, "store_corrupt", "The database is damaged"],
  [/^(?:28|3D|42501)/, "store_failed", "The database refused access"],
];

/** SQLSTATE of an error that the server sent; undefined if the connection failed. */
function stateOf(error: unknown): string | undefined {
  const { code, severity } = error as { readonly code?: unknown; readonly severity?: unknown };
  return typeof code === "string" && typeof severity === "string" ? code : undefined;
}

/** Whether the server answered with an error: the connection can be used again. */
export function isServerError(error: unknown): boolean {
  const state = stateOf(error);
  return state !== undefined && !UNAVAILABLE.test(state);
}

/** Whether the database could not be reached, went away, or does not accept writes at the moment. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof LoomError) return error.code === "store_unavailable";
  const state = stateOf(error);
  if (state !== undefined) return UNAVAILABLE.test(state);
  const { code, message = "" } = error as { readonly code?: unknown; readonly message?: string };
  if (error instanceof AggregateError) return error.errors.every(isUnavailable);
  return (typeof code === "string" && SOCKET.test(code)) || LOST.test(message);
}

/** Whether a statement, or waiting for a free connection, took too long. The database may be away, or only slow. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && TIMEOUT.test(error.message);
}

/** Whether the transaction lost against another one and can be repeated. */
export function isTransient(error: unknown): boolean {
  return TRANSIENT.has(stateOf(error) ?? "");
}

/** Whether the user of the database lacks a permission. */
export function isRefused(error: unknown): boolean {
  return error instanceof LoomError && stateOf(error.cause ?? {}) === "42501";
}

/** `where` names the database without credentials. */
export function asPostgresError(error: unknown, where: string): LoomError {
  if (error instanceof LoomError) return error;
  const message = describe(error);
  if (isUnavailable(error))
    return new LoomError(
      "store_unavailable",
      `The database ${where} is not available: ${message}`,
      {},
      { cause: error },
    );
  const state = stateOf(error) ?? "";
  const [, code, about] = CODES.find(([states]) => states.test(state)) ?? FAILED;
  return new LoomError(code, `${about} (${where}): ${message}`, {}, { cause: error });
}

function describe(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return describe(error.errors[0]);
  return error instanceof Error && error.message !== "" ? error.message : String(error);
}
