/** How doors over HTTP ask for commands: `Idempotency-Key` is the command's id, and a refusal is thrown. */
import { randomUUID } from "node:crypto";
import type { AckControl, ControlCommand } from "../../protocol/control/index.ts";
import { ERROR_CODES, type ErrorCode, LoomError } from "../../protocol/index.ts";
import { carryOut } from "../commands/carry-out.ts";
import { commandsFor } from "../commands/commands-for.ts";
import type { Caller } from "../guard/authorize.ts";
import type { ServerCore } from "../server-core.ts";

export const KEY_HEADER = {
  "Idempotency-Key": "Asked again with the same key it is the same request, and has the same effect: once",
} as const;

/** The id of the command: the caller's, or one that is made up. */
export function readKey(request: Request): string {
  const key = request.headers.get("idempotency-key") ?? "";
  return key === "" ? randomUUID() : key;
}

type Core = Pick<ServerCore, "commands" | "access">;

/** In the name of whoever asks, who has leave. */
export async function ask(core: Core, caller: Caller, command: ControlCommand): Promise<AckControl> {
  const answer = await carryOut(commandsFor(core, caller), command);
  if (answer.type === "ack") return answer;
  const { code, message, details } = answer;
  throw new LoomError(toErrorCode(code), message, details);
}

/** As an answer: what waits is accepted, what is done is done. */
export async function answerCommand(core: Core, caller: Caller, command: ControlCommand): Promise<Response> {
  const answer = await ask(core, caller, command);
  return Response.json(answer, { status: answer.pending === true ? 202 : 200 });
}

/** Outcomes in the log may bear codes of another version. */
function toErrorCode(code: string): ErrorCode {
  return Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : "internal_error";
}
