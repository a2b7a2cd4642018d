/** A body is read as it comes: what was packed for the way would be taken for something else. */
import { LoomError } from "../../protocol/index.ts";
import { HttpRefusal } from "./refuse-request.ts";

/** Throws `unsupported`, with 415, where `Content-Encoding` says more than `identity`. */
export function assertEncoding({ headers }: Request): void {
  const given = headers.get("content-encoding")?.trim() ?? "";
  if (given === "" || given.toLowerCase() === "identity") return;
  const message = `the body must come as it is: \`Content-Encoding: ${given.slice(0, 80)}\` is not read`;
  throw new HttpRefusal(new LoomError("unsupported", message, { header: "content-encoding" }), {
    status: 415,
    headers: { "accept-encoding": "identity" },
  });
}
