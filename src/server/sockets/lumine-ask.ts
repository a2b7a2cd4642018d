/** What a client of 004 says: a message, or one of the few things a user does with what the agent shows. */
import type { ControlCommand } from "../../protocol/control/index.ts";
import { isJsonObject, type JsonObject, LoomError } from "../../protocol/index.ts";

type Distribute<C> = C extends { readonly id: string; readonly session: string } ? Omit<C, "id" | "session"> : never;

/** A command, but for the session it is about and its id. */
export type LumineCommand = Distribute<Extract<ControlCommand, { readonly type: "todo" | "approve" }>>;

export type LumineAsk =
  | { readonly kind: "message"; readonly content: string; readonly session?: string; readonly agent?: string }
  | { readonly kind: "command"; readonly command: LumineCommand; readonly session?: string }
  | { readonly kind: "cancel"; readonly reason?: string }
  /** `isRequest`: whoever sent it waits for `[DONE]`. */
  | { readonly kind: "bad"; readonly error: LoomError; readonly isRequest: boolean };

/** What is of no known type is taken for a message that went wrong: its sender waits for an answer. */
export function readLumineAsk(text: string, maxLength: number): LumineAsk {
  let isRequest = true;
  try {
    if (text.length > maxLength)
      throw new LoomError("body_too_large", `a message has at most ${maxLength} characters, not ${text.length}`, {
        limit: maxLength,
      });
    const frame = parse(text);
    isRequest = !isCommandType(frame["type"]);
    return read(frame);
  } catch (error) {
    if (error instanceof LoomError) return { kind: "bad", error, isRequest };
    throw error;
  }
}

function isCommandType(type: unknown): boolean {
  return type === "todo_update" || type === "tool_approval" || type === "cancel";
}

function read(frame: JsonObject): LumineAsk {
  const session = readText(frame, "session_id");
  const about = session === undefined ? {} : { session };
  switch (frame["type"]) {
    case "todo_update": {
      const completed = frame["completed"] ?? undefined;
      if (completed !== undefined && typeof completed !== "boolean") throw invalid("`completed` must be true or false");
      const text = frame["text"] ?? undefined;
      if (text !== undefined && typeof text !== "string") throw invalid("`text` must be a text");
      return {
        kind: "command",
        ...about,
        command: {
          type: "todo",
          list_id: needText(frame, "list_id"),
          item_id: needText(frame, "item_id"),
          ...(completed === undefined ? {} : { completed }),
          ...(text === undefined ? {} : { text }),
        },
      };
    }
    case "tool_approval": {
      const { decision, args } = frame;
      if (decision !== "approved" && decision !== "rejected")
        throw invalid('`decision` must be "approved" or "rejected"');
      if (args != null && !isJsonObject(args)) throw invalid("`args` must be an object");
      const reason = readText(frame, "reason");
      return {
        kind: "command",
        ...about,
        command: {
          type: "approve",
          call_id: needText(frame, "tool_use_id"),
          decision,
          ...(args == null ? {} : { arguments: args }),
          ...(reason === undefined ? {} : { reason }),
        },
      };
    }
    case "cancel": {
      const reason = readText(frame, "reason");
      return { kind: "cancel", ...(reason === undefined ? {} : { reason }) };
    }
    default: {
      const { content } = frame;
      if (typeof content !== "string") throw invalid("`content` must be a text");
      if (content.trim() === "") throw invalid("`content` is empty");
      const agent = readText(frame, "agent");
      return { kind: "message", content, ...about, ...(agent === undefined ? {} : { agent }) };
    }
  }
}

function parse(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid("the message is not JSON");
  }
  if (!isJsonObject(value)) throw invalid("the message is not a JSON object");
  return value;
}

/** `null`, as 004 writes what is not given, and an empty text are none. */
function readText(frame: JsonObject, name: string): string | undefined {
  const value = frame[name] ?? undefined;
  if (value !== undefined && typeof value !== "string") throw invalid(`\`${name}\` must be a text`);
  return value === "" ? undefined : value;
}

function needText(frame: JsonObject, name: string): string {
  const value = readText(frame, name);
  if (value === undefined) throw invalid(`\`${name}\` is missing`);
  return value;
}

function invalid(message: string): LoomError {
  return new LoomError("invalid_request", message);
}
