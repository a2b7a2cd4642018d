/** Finds the credentials in a request, without checking them: which of them there are decides who may come. */
import type { RequestInfo } from "../guard/read-request-info.ts";
import { readCookies } from "./cookies.ts";

/** A ticket is accepted only where a browser cannot send headers: event streams and sockets. */
const TICKET_METHODS: ReadonlySet<string> = new Set(["GET", "UPGRADE"]);

/** Query parameter of requests that use only the share links of the browser, and no other permission it has. */
export const ACCESS_PARAMETER = "access";

/** Ignores other schemes, which may belong to a proxy in front of the server. */
export function readBearer({ headers }: Pick<RequestInfo, "headers">): string | undefined {
  const [match, bearer = ""] = /^bearer(?:\s+(.*))?$/i.exec(headers.get("authorization")?.trim() ?? "") ?? [];
  return match === undefined ? undefined : bearer;
}

export function readTicket({ method, url }: Pick<RequestInfo, "method" | "url">): string | undefined {
  return TICKET_METHODS.has(method) ? (url.searchParams.get("ticket") ?? undefined) : undefined;
}

/**
 * Whether the page that was opened by a share link sent the request. It does what the link allows and ends with the link,
 * also in a browser that may do more.
 */
export function asksForLink({ url }: Pick<RequestInfo, "url">): boolean {
  return url.searchParams.get(ACCESS_PARAMETER) === "link";
}

export function isShareSecret(text: string): boolean {
  return text.startsWith("loom_shr_");
}

/** Whether the request has something that may be a share link, or a ticket that was created with one. */
export function bringsLink(request: Pick<RequestInfo, "headers" | "origin" | "method" | "url">): boolean {
  const bearer = readBearer(request);
  if (bearer !== undefined) return isShareSecret(bearer);
  return readTicket(request) !== undefined || readCookies(request).shares.length > 0;
}
