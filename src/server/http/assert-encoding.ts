/** Rejects compressed request bodies, which the server does not decompress. */
import { LoomError } from "../../protocol/index.ts";
import { HttpRefusal } from "../api/refuse-request.ts";

/** Throws `unsupported`, with status 415, if `Content-Encoding` is not `identity`. */
export function assertEncoding({ headers }: Request): void {
  const given = headers.get("content-encoding")?.trim() ?? "";
  if (given === "" || given.toLowerCase() === "identity") return;
  const message = `\`Content-Encoding: ${given.slice(0, 80)}\` is not supported; send the body uncompressed`;
  throw new HttpRefusal(new LoomError("unsupported", message, { header: "content-encoding" }), {
    status: 415,
    headers: { "accept-encoding": "identity" },
  });
}
