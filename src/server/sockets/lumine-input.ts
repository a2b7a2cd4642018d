/** Parses what a Lumine (004) client sends: a message, a to-do update, a tool approval or a cancel. */
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import type { ControlCommand } from "../../protocol/control/index.ts";
import { type Json, type JsonObject, LoomError } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import type { CommandContent } from "../commands/execute-command.ts";
import { readLooseBody } from "../guard/assert-known-fields.ts";

/** What a message of 004 can have. */
const FIELDS = ["type", "session_id", "content", "agent", "strategy", "capabilities"];

export type LumineCommand = CommandContent<Extract<ControlCommand, { readonly type: "todo" | "approve" }>>;

export type LumineInput =
  | {
      readonly kind: "message";
      readonly content: string;
      readonly session?: string;
      readonly agent?: string;
      /** Strategy settings, as `run` has them. */
      readonly strategy?: { readonly [name: string]: unknown };
      /** What was ignored because it looks misspelled. */
      readonly notices?: readonly string[];
      /** What the client can do: `approval` if it can answer tool approvals. */
      readonly capabilities: readonly string[];
    }
  | { readonly kind: "command"; readonly command: LumineCommand; readonly session?: string }
  | { readonly kind: "cancel"; readonly reason?: string }
  /** `isRequest`: the client waits for `[DONE]`. */
  | { readonly kind: "bad"; readonly error: unknown; readonly isRequest: boolean };

/**
 * Parses one text message. Never throws for invalid input: the result has kind `bad`. Input of unknown type counts as a
 * request, because its sender waits for an answer.
 */
export function readLumineInput(text: string, maxLength: number): LumineInput {
  let isRequest = true;
  try {
    if (text.length > maxLength)
      throw new LoomError("body_too_large", `The message has ${text.length} characters; the limit is ${maxLength}`, {
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

function read(frame: JsonObject): LumineInput {
  const session = readText(frame, "session_id");
  const about = session === undefined ? {} : { session };
  switch (frame["type"]) {
    case "todo_update": {
      const completed = frame["completed"] ?? undefined;
      if (completed !== undefined && typeof completed !== "boolean") throw invalid("`completed` must be true or false");
      const text = frame["text"] ?? undefined;
      if (text !== undefined && typeof text !== "string") throw invalid("`text` must be a string");
      return {
        kind: "command",
        ...about,
        command: dropUndefined({
          type: "todo",
          list_id: requireText(frame, "list_id"),
          item_id: requireText(frame, "item_id"),
          completed,
          text,
        }),
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
        command: dropUndefined({
          type: "approve",
          call_id: requireText(frame, "tool_use_id"),
          decision,
          ...(args == null ? {} : { arguments: args }),
          reason,
        }),
      };
    }
    case "cancel": {
      const reason = readText(frame, "reason");
      return dropUndefined({ kind: "cancel", reason });
    }
    default: {
      const { content } = frame;
      if (typeof content !== "string") throw invalid("`content` must be a string");
      if (content.trim() === "") throw invalid("`content` must not be empty");
      const agent = readText(frame, "agent");
      const capabilities = frame["capabilities"] ?? [];
      if (!isTextList(capabilities)) throw invalid("`capabilities` must be a list of strings");
      if (frame["strategy"] != null && !isJsonObject(frame["strategy"])) throw invalid("`strategy` must be an object");
      const { strategy, notices } = readLooseBody(FIELDS, frame);
      return dropUndefined({
        kind: "message",
        content,
        ...about,
        agent,
        strategy,
        ...(notices.length === 0 ? {} : { notices }),
        capabilities,
      });
    }
  }
}

function isTextList(value: Json): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function parse(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid("The message is not valid JSON");
  }
  if (!isJsonObject(value)) throw invalid("The message must be a JSON object");
  return value;
}

/** Returns undefined for a missing field, `null` (which 004 clients send for absent values) and an empty string. */
function readText(frame: JsonObject, name: string): string | undefined {
  const value = frame[name] ?? undefined;
  if (value !== undefined && typeof value !== "string") throw invalid(`\`${name}\` must be a string`);
  return value === "" ? undefined : value;
}

function requireText(frame: JsonObject, name: string): string {
  const value = readText(frame, name);
  if (value === undefined) throw invalid(`\`${name}\` is missing`);
  return value;
}

function invalid(message: string): LoomError {
  return new LoomError("invalid_request", message);
}
