/**
 * Failures of the model's provider as errors of a request, with the status that the provider responded with. Clients must
 * not repeat such a request by themselves: its run is stored, and the agent has repeated the call of the model already.
 */
import { fromOpenaiErrorCode, statusOfFailure } from "../../../dialects/openai-error.ts";
import { ERROR_CODES, type ErrorCode, type Json, type JsonObject, LoomError } from "../../../protocol/index.ts";
import { parseObject, toJsonObject } from "../../../protocol/json.ts";
import { RETRY_HEADER } from "../../api/adapt-error.ts";
import { HttpRefusal } from "../../api/refuse-request.ts";

const FAILED = "The run failed";
/** Events that come before anything that a client shows. */
const QUIET: ReadonlySet<Json | undefined> = new Set(["error", "retrieval_complete", "compression_applied"]);
const STARTING: ReadonlySet<Json | undefined> = new Set(["response.created", "response.in_progress", "keepalive"]);

/**
 * Returns a function that reads the frames of a message in order. It returns true once a client has something to show, and
 * throws the error of a run that fails before because of the provider.
 */
export function watchOpening(headers: { readonly [name: string]: string }): (text: string) => boolean {
  let noted: JsonObject = {};
  return (text) => {
    const frame = parseObject(text) ?? {};
    noted = readError(frame) ?? noted;
    const { error = null } = frame["type"] === "response.failed" ? toJsonObject(frame["response"]) : frame;
    const refusal = error === null ? undefined : refuseFailure(toJsonObject(error), noted, headers);
    if (refusal instanceof HttpRefusal) throw refusal;
    return !isQuiet(frame);
  };
}

/** The event `error` that a frame carries. */
export function readError({ loom }: JsonObject): JsonObject | undefined {
  const event = toJsonObject(loom);
  return event["type"] === "error" ? event : undefined;
}

/** The error of a failed run. `noted` is the last event `error` of the run, which has details. */
export function refuseFailure(
  { type, code, message }: JsonObject,
  noted: JsonObject,
  headers: { readonly [name: string]: string } = {},
): LoomError | HttpRefusal {
  const own = fromOpenaiErrorCode(typeof code === "string" ? code : "");
  const details = noted["code"] === own ? toJsonObject(noted["details"]) : {};
  // The log may contain error codes of another version.
  const known = Object.hasOwn(ERROR_CODES, own) ? (own as ErrorCode) : "model_failed";
  const text = typeof message === "string" ? message : FAILED;
  if (type === "cancelled") return new LoomError("cancelled", text);
  const status = statusOfFailure(own, details["status"]);
  if (status === undefined) return new LoomError(known, text);
  return new HttpRefusal(new LoomError(known, text, details), {
    status,
    headers: { ...headers, [RETRY_HEADER]: "false" },
  });
}

function isQuiet({ type, choices, loom }: JsonObject): boolean {
  const event = loom === undefined || QUIET.has(toJsonObject(loom)["type"]);
  if (typeof type === "string") return event && STARTING.has(type);
  const [choice] = Array.isArray(choices) ? (choices as readonly Json[]) : [];
  const { delta, finish_reason = null } = toJsonObject(choice);
  const { role: _role, content = "", ...shown } = toJsonObject(delta);
  return event && finish_reason === null && content === "" && Object.keys(shown).length === 0;
}
