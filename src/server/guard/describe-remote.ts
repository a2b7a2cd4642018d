/**
 * Finds out whether a request comes directly from this machine, for servers without authentication that answer no other
 * machine. What they cannot know counts as another machine.
 */
import { LoomError } from "../../protocol/index.ts";
import { isLoopback } from "./read-proxies.ts";

/** Headers that proxies add. */
const FORWARDING_HEADER =
  /forwarded|^(?:via|cdn-loop|x-original-(?:for|host)|x-envoy-external-address)$|(?:client|real|connect(?:ing|ion)|originating|remote|user)-?(?:ip|addr)$/;

/** The refusal of a request that may come from another machine. The message names the options that allow it. */
export function refuseRemote(why: string): LoomError {
  return new LoomError(
    "forbidden",
    `Authentication is off, so only this machine can connect, others can only open share links, and ${why}. Set the option \`auth\`, or set \`allowPublic: true\` to let every client that reaches this handler use its agents and tools`,
  );
}

/** Undefined if the peer has a loopback address and no proxy forwarded the request. */
export function describeRemote(peer: string | undefined, headers: Headers): string | undefined {
  if (peer === undefined || peer === "")
    return "the address of the client is unknown: route handlers of Next.js, and other callers of `fetch` without the Node request in `env`, do not pass it on";
  if (!isLoopback(peer)) return `this request comes from ${peer.slice(0, 60)}`;
  const forwarding = [...headers.keys()].find((name) => FORWARDING_HEADER.test(name));
  if (forwarding === undefined) return undefined;
  return `a proxy added the header \`${forwarding}\` to this request, as development servers with a proxy do`;
}
