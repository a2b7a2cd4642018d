/**
 * Reads what a client of AG-UI sends: of its messages the new one of the user, its answers to interrupts, and its data
 * for the run.
 */
import type { ControlCommand } from "../../../protocol/control/index.ts";
import { dropUndefined } from "../../../protocol/drop-undefined.ts";
import type { Json, JsonObject } from "../../../protocol/index.ts";
import { isJsonObject } from "../../../protocol/json.ts";
import type { AgUiInput, StartRun } from "../../api/shapes.generated.ts";
import { refuse } from "../../endpoints/read-run-input.ts";

type Approval = Pick<
  Extract<ControlCommand, { readonly type: "approve" }>,
  "call_id" | "decision" | "arguments" | "reason"
>;

type ClientToolResult = Pick<Extract<ControlCommand, { readonly type: "tool_result" }>, "output" | "is_error">;
type GivenAnswer = NonNullable<AgUiInput["resume"]>[number];

/** Returns the last message as the body of a run. Throws `invalid_request` if it is not the user's. */
export function readQuestion({ messages, ...input }: AgUiInput): StartRun {
  const message = messages.at(-1);
  const path = `messages[${Math.max(0, messages.length - 1)}]`;
  if (message?.["role"] !== "user")
    throw refuse("The last message must be the user's, unless the request answers an interrupt", path);
  const { id, content } = message;
  const { text, attachments } = readContent(content, `${path}.content`);
  const context = readContext(input);
  const instructions = composeInstructions(messages, input.context);
  const { tools = [] } = input;
  return {
    message: { text, ...(attachments.length === 0 ? {} : { attachments }) },
    ...(typeof id === "string" && id !== "" ? { request_id: id } : {}),
    ...(context === undefined ? {} : { context: { "ag-ui": context } }),
    ...(tools.length === 0 ? {} : { client_tools: readTools(tools) }),
    ...(instructions === "" ? {} : { instructions }),
  };
}

/** Instructions for the model: the system messages of the client, and what the page says about itself. */
function composeInstructions(messages: AgUiInput["messages"], context: AgUiInput["context"] = []): string {
  const system = messages.filter(({ role }) => role === "system" || role === "developer");
  const entries = context.map(({ description, value }) => {
    const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
    return typeof description === "string" && description !== "" ? `${description}: ${text}` : text;
  });
  return [...system.map(({ content }) => readText(content) ?? ""), ...entries]
    .filter((text) => text !== "")
    .join("\n\n");
}

type GivenAttachments = NonNullable<StartRun["attachments"]>;

function readContent(content: Json | undefined, path: string): { text: string; attachments: GivenAttachments } {
  if (typeof content === "string") return { text: content, attachments: [] };
  if (!Array.isArray(content)) throw refuse("The message needs `content`: a text or a list of parts", path);
  const texts: string[] = [];
  const attachments: GivenAttachments[number][] = [];
  for (const [index, part] of content.entries()) {
    if (!isJsonObject(part)) throw refuse("A part must be an object", `${path}[${index}]`);
    if (part["type"] === "text") texts.push(readText(part["text"]) ?? "");
    else attachments.push(readFile(part, `${path}[${index}]`));
  }
  return { text: texts.join("\n"), attachments };
}

/** Files have a `source` since version 1.0, and are `binary` before. */
function readFile(part: JsonObject, path: string): GivenAttachments[number] {
  const source = isJsonObject(part["source"]) ? part["source"] : undefined;
  const mediaType = readText(source?.["mimeType"] ?? part["mimeType"]);
  const metadata = isJsonObject(part["metadata"]) ? part["metadata"] : {};
  const name = readText(part["filename"] ?? metadata["filename"]);
  const about = dropUndefined({ media_type: mediaType, name });
  const data = readText(source?.["type"] === "data" ? source["value"] : part["data"]);
  const url = readText(source?.["type"] === "url" ? source["value"] : part["url"]);
  if (data !== undefined) return { data, ...about };
  if (url !== undefined) return { url, ...about };
  throw refuse("A file needs its data or a URL", path);
}

function readText(value: Json | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** What the page says about itself. Undefined if it says nothing. */
function readContext({ context = [], forwardedProps }: Omit<AgUiInput, "messages">): JsonObject | undefined {
  const hasProps = isJsonObject(forwardedProps) && Object.keys(forwardedProps).length > 0;
  if (context.length === 0 && !hasProps) return undefined;
  return { ...(context.length === 0 ? {} : { context }), ...(hasProps ? { forwardedProps } : {}) };
}

/** The tools that the client carries out, as they are declared for a run. */
function readTools(tools: NonNullable<AgUiInput["tools"]>): NonNullable<StartRun["client_tools"]> {
  return tools.map(({ name, description, parameters }) => ({
    name: typeof name === "string" ? name : "",
    ...(typeof description === "string" ? { description } : {}),
    // An empty object stands for any arguments.
    ...(isJsonObject(parameters) && parameters["type"] === "object" ? { input_schema: parameters } : {}),
  }));
}

/** Returns the results of calls that the client carried out, by the ID of the call. */
export function readResults({ messages }: Pick<AgUiInput, "messages">): ReadonlyMap<string, ClientToolResult> {
  // With a new message of the user, the request is not an answer.
  const tools = messages.at(-1)?.["role"] === "user" ? [] : messages.filter(({ role }) => role === "tool");
  return new Map(
    tools.map(({ toolCallId, content, error }) => [
      readText(toolCallId) ?? "",
      {
        output: content ?? "",
        ...(typeof error === "string" && error !== "" ? { output: error, is_error: true } : {}),
      },
    ]),
  );
}

/** The decision in an answer: `true`, or an object with `approved`. Everything else rejects the call. */
export function readApproval({ interruptId, status, payload }: GivenAnswer): Approval {
  const given = isJsonObject(payload) ? payload : { approved: payload === true };
  const isApproved = status === "resolved" && given["approved"] === true;
  const edited = given["arguments"] ?? given["editedArgs"];
  const reason = readText(given["reason"]);
  return dropUndefined({
    call_id: interruptId,
    decision: isApproved ? "approved" : "rejected",
    ...(isApproved && isJsonObject(edited) ? { arguments: edited } : {}),
    reason,
  });
}

/** The result of a call in an answer of TanStack AI. */
export function readResult({ status, payload }: GivenAnswer): ClientToolResult {
  return status === "resolved" ? { output: payload ?? "" } : { output: "The call was cancelled", is_error: true };
}
