/**
 * Finds the credentials in a request, without checking them, and writes the cookies of browsers that signed in or opened
 * a share link. Browsers attach cookies to requests from any page, so cookies are accepted only when the request is known
 * to come from our own page.
 *
 * Invariants: scripts cannot read the cookies, other sites cannot send them, and a cookie never contains a token.
 */
import type { RequestInfo } from "../guard/read-request-info.ts";

export interface Cookies {
  /** Secret of the signed-in session. */
  readonly session?: string | undefined;
  /** Secrets of opened share links, newest last. */
  readonly shares: readonly string[];
}

export interface CookieOptions {
  /** URL prefix of every route, without a trailing slash. */
  readonly basePath: string;
  /** Expiry in milliseconds since 1970; a session cookie when absent. */
  readonly expiresAt?: number | undefined;
  readonly now?: number | undefined;
}

/** Share links one browser can have open at once; the oldest beyond that are ignored. */
export const MAX_SHARE_COOKIES = 20;

const SHARE_PREFIX = "loom-share-";
const SESSION_SECRET = /^loom_ses_[\w-]{1,200}$/;
const SHARE_SECRET = /^loom_shr_[\w-]{1,200}$/;
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);
const NONE: Cookies = { shares: [] };

/**
 * Returns which page caused the request: our own, one of another origin (even if that origin is allowed), or unknown
 * when the request has no browser headers.
 */
export function findPageOrigin({
  headers,
  origin,
}: Pick<RequestInfo, "headers" | "origin">): "own" | "foreign" | "unknown" {
  const given = headers.get("origin");
  if (given !== null && given !== "") return given.toLowerCase() === origin ? "own" : "foreign";
  const site = headers.get("sec-fetch-site");
  if (site === null || site === "") return "unknown";
  return site === "same-origin" || site === "none" ? "own" : "foreign";
}

/**
 * Whether the cookies of a request are accepted. Browsers omit `Origin` and `Sec-Fetch-Site` on same-origin reads from
 * a page served over plain HTTP, so safe methods pass without them; writes and socket upgrades always have `Origin`.
 */
export function mayUseCookies(request: Pick<RequestInfo, "headers" | "origin" | "method">): boolean {
  const page = findPageOrigin(request);
  return page === "own" || (page === "unknown" && SAFE_METHODS.has(request.method));
}

/**
 * Returns the accepted cookies. Ignores a session cookie that is sent twice, because another site may have set one of
 * them.
 */
export function readCookies(request: Pick<RequestInfo, "headers" | "origin" | "method">): Cookies {
  const header = request.headers.get("cookie");
  if (header === null || !mayUseCookies(request)) return NONE;
  const sessions: string[] = [];
  const shares = new Map<string, string>();
  const own = sessionCookieName(request);
  for (const part of header.split(";")) {
    const [name, value] = splitOnce(part.trim());
    if (name === own) sessions.push(value);
    else if (name.startsWith(SHARE_PREFIX) && SHARE_SECRET.test(value)) shares.set(name, value);
  }
  const [session = "", ...others] = sessions;
  return {
    session: others.length === 0 && SESSION_SECRET.test(session) ? session : undefined,
    shares: [...shares.values()].slice(-MAX_SHARE_COOKIES),
  };
}

export function writeSessionCookie(request: RequestInfo, secret: string, options: CookieOptions): string {
  return formatCookie(request, sessionCookieName(request), secret, options);
}

export function writeShareCookie(
  request: RequestInfo,
  shareId: string,
  secret: string,
  options: CookieOptions,
): string {
  return formatCookie(request, `${SHARE_PREFIX}${shareId}`, secret, options);
}

/** Returns the `Set-Cookie` values that delete the session cookie and all share cookies. */
export function clearCookies(request: RequestInfo, { basePath }: Pick<CookieOptions, "basePath">): readonly string[] {
  const shares = readCookies(request).shares.map((secret) => `${SHARE_PREFIX}${secret.split("_")[2] ?? ""}`);
  return [sessionCookieName(request), ...shares].map((name) =>
    formatCookie(request, name, "", { basePath, expiresAt: 0 }),
  );
}

/** The name contains the port because browsers share cookies between ports of one host. */
function sessionCookieName({ origin }: Pick<RequestInfo, "origin">): string {
  const port = URL.parse(origin)?.port ?? "";
  return `loom-session-${port || (origin.startsWith("https:") ? "443" : "80")}`;
}

function formatCookie(
  { origin }: RequestInfo,
  name: string,
  value: string,
  { basePath, expiresAt, now = Date.now() }: CookieOptions,
): string {
  return [
    `${name}=${value}`,
    `Path=${basePath === "" ? "/" : basePath}`,
    ...(expiresAt === undefined ? [] : [`Max-Age=${Math.max(0, Math.floor((expiresAt - now) / 1000))}`]),
    "HttpOnly",
    "SameSite=Strict",
    ...(origin.startsWith("https:") ? ["Secure"] : []),
  ].join("; ");
}

function splitOnce(text: string): readonly [string, string] {
  const at = text.indexOf("=");
  return at < 0 ? ["", text] : [text.slice(0, at), text.slice(at + 1)];
}

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
