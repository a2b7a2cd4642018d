/**
 * Cookies of browsers that signed in or opened a link: how they are written, and when they count. A browser sends them
 * along whatever page makes it ask, so they count only where the page is known to be our own.
 *
 * Invariants: scripts never see them, other sites never send them, and what is brought as a cookie is never a token.
 */
import type { RequestInfo } from "../guard/authorize.ts";

export interface Cookies {
  /** Of one who signed in. */
  readonly session?: string | undefined;
  /** Of links that were opened, the newest last. */
  readonly shares: readonly string[];
}

export interface CookieOptions {
  /** Before every path, without a slash at its end. */
  readonly basePath: string;
  /** In milliseconds since 1970; with the browser when absent. */
  readonly expiresAt?: number | undefined;
  readonly now?: number | undefined;
}

/** Links that one browser may have open at once; of more, the oldest do not count. */
export const MAX_SHARE_COOKIES = 20;

const SHARE_PREFIX = "loom-share-";
const SESSION_SECRET = /^loom_ses_[\w-]{1,200}$/;
const SHARE_SECRET = /^loom_shr_[\w-]{1,200}$/;
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);
const NONE: Cookies = { shares: [] };

/**
 * Whose page makes a browser ask: our own, that of another origin (though it be allowed to ask), or one that is not
 * told, as where nobody's page does.
 */
export function readPage({ headers, origin }: Pick<RequestInfo, "headers" | "origin">): "own" | "foreign" | "untold" {
  const given = headers.get("origin");
  if (given !== null && given !== "") return given.toLowerCase() === origin ? "own" : "foreign";
  const site = headers.get("sec-fetch-site");
  if (site === null || site === "") return "untold";
  return site === "same-origin" || site === "none" ? "own" : "foreign";
}

/**
 * Whether cookies count. Browsers say nothing when a page that is not served securely reads from where it came; what
 * changes something, and every socket, they say it with.
 */
export function mayUseCookies(stranger: Pick<RequestInfo, "headers" | "origin" | "method">): boolean {
  const page = readPage(stranger);
  return page === "own" || (page === "untold" && SAFE_METHODS.has(stranger.method));
}

/** Those that count. One that is there twice is not ours alone, and does not. */
export function readCookies(stranger: Pick<RequestInfo, "headers" | "origin" | "method">): Cookies {
  const header = stranger.headers.get("cookie");
  if (header === null || !mayUseCookies(stranger)) return NONE;
  const sessions: string[] = [];
  const shares = new Map<string, string>();
  const own = nameSession(stranger);
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

export function writeSessionCookie(stranger: RequestInfo, secret: string, options: CookieOptions): string {
  return write(stranger, nameSession(stranger), secret, options);
}

export function writeShareCookie(stranger: RequestInfo, shareId: string, secret: string, options: CookieOptions): string {
  return write(stranger, `${SHARE_PREFIX}${shareId}`, secret, options);
}

/** As they are written to make a browser forget them: that of the one who signed in, and those of links. */
export function clearCookies(stranger: RequestInfo, { basePath }: Pick<CookieOptions, "basePath">): readonly string[] {
  const shares = readCookies(stranger).shares.map((secret) => `${SHARE_PREFIX}${secret.split("_")[2] ?? ""}`);
  return [nameSession(stranger), ...shares].map((name) => write(stranger, name, "", { basePath, expiresAt: 0 }));
}

/** Browsers do not keep the cookies of two servers apart that differ in their port alone. */
function nameSession({ origin }: Pick<RequestInfo, "origin">): string {
  const port = URL.parse(origin)?.port ?? "";
  return `loom-session-${port || (origin.startsWith("https:") ? "443" : "80")}`;
}

function write(
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
