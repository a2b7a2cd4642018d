/**
 * Executes commands for HTTP endpoints: `Idempotency-Key` becomes the ID of the command, and a refusal is thrown as an
 * error.
 */
import { randomUUID } from "node:crypto";
import type { AckControl, ControlCommand } from "../../protocol/control/index.ts";
import { ERROR_CODES, type ErrorCode, LoomError } from "../../protocol/index.ts";
import { executeCommand } from "../commands/execute-command.ts";
import { type CommandHost, commandHostFor } from "../commands/command-host.ts";
import type { Caller } from "../auth/authorize.ts";
import type { ServerCore } from "../api/server-core.ts";

export const IDEMPOTENCY_HEADER = {
  "Idempotency-Key": "Repeating a request with the same key has no further effect and returns the same result",
} as const;

/** Returns the idempotency key of the request, or a random one. */
export function readIdempotencyKey(request: Request): string {
  const key = request.headers.get("idempotency-key") ?? "";
  return key === "" ? randomUUID() : key;
}

type CommandCore = Pick<ServerCore, "commands" | "access" | "auditor">;

/** Executes a command of an authorized caller. Throws the error of a refusal. */
export async function executeOrThrow(
  core: CommandCore,
  caller: Caller,
  command: ControlCommand,
  { beforeSubmit, notices }: Pick<CommandHost, "beforeSubmit" | "notices"> = {},
): Promise<AckControl> {
  const answer = await executeCommand({ ...commandHostFor(core, caller), beforeSubmit, notices }, command);
  if (answer.type === "ack") return answer;
  const { code, message, details } = answer;
  throw new LoomError(toErrorCode(code), message, details);
}

/** Executes a command and responds with 200 if it was executed, or 202 if it is pending. */
export async function respondToCommand(core: CommandCore, caller: Caller, command: ControlCommand): Promise<Response> {
  const answer = await executeOrThrow(core, caller, command);
  return Response.json(answer, { status: answer.pending === true ? 202 : 200 });
}

/** The log may contain outcomes with error codes of another version. */
function toErrorCode(code: string): ErrorCode {
  return Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : "internal_error";
}
