/**
 * The tool that fetches a page from the web. It reaches what is public and nothing else, unless an option says so: a
 * model does what a page tells it, and the machine it runs on can see more than its users should.
 */
import { lookup } from "node:dns/promises";
import { LoomError } from "../../protocol/index.ts";
import { defineTool } from "../define-tool.ts";
import { describeInput } from "../describe-input.ts";
import { refineInput } from "../refine-input.ts";
import type { ApprovalPolicy, Tool } from "../tool.ts";
import { toolResult } from "../tool-result.ts";
import { decodePage } from "./decode-page.ts";
import type { ResolveHost, UrlRules } from "./judge-url.ts";
import { requestPage } from "./request-page.ts";
import { withDeadline } from "./with-deadline.ts";

export interface FetchToolOptions {
  /** Hosts that may be reached although they are not public: `host`, or `host:port`, which allows that port too. */
  readonly allow?: readonly string[];
  /** 80 and 443 when absent. Code `url_refused`. */
  readonly ports?: readonly number[];
  /** GET and HEAD when absent. Where a call does not say, it is GET, or the first of these. */
  readonly methods?: readonly FetchMethod[];
  /** When the user must agree; when absent, for methods that may change something. */
  readonly approval?: ApprovalPolicy<FetchInput>;
  /** Of one page, decompressed; the rest is cut, and said so. */
  readonly maxBytes?: number;
  /** Code `url_refused`. */
  readonly maxRedirects?: number;
  /** For everything, from the name to the last byte. Code `tool_timeout`. */
  readonly timeoutMs?: number;
  /** Characters of the page that the model is told. */
  readonly maxResultCharacters?: number;
  readonly userAgent?: string;
  /** All addresses of a name; the system's way when absent. */
  readonly resolve?: ResolveHost;
}

export type FetchMethod = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface FetchInput {
  readonly url: string;
  readonly method?: FetchMethod;
  readonly body?: string;
  readonly content_type?: string;
}

const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD"]);
const MAX_URL_LENGTH = 4096;
/** The tool's own deadline comes first, because it knows what to say. */
const GRACE_MS = 1000;

/** The tool `http_fetch`. Throws `tool_invalid`. */
export function createFetchTool({
  allow = [],
  ports = [80, 443],
  methods = ["GET", "HEAD"],
  approval = ({ method = "GET" }) => !SAFE.has(method),
  maxBytes = 1024 * 1024,
  maxRedirects = 5,
  timeoutMs = 20_000,
  maxResultCharacters = 50_000,
  userAgent = "loom-agent",
  resolve = async (host) => lookup(host, { all: true, order: "verbatim" }),
}: FetchToolOptions = {}): Tool {
  const rules: UrlRules = {
    allow: allow.map((host) => host.toLowerCase()),
    ports,
    maxUrlLength: MAX_URL_LENGTH,
    resolve,
  };
  const canSend = methods.some((method) => !SAFE.has(method));
  const usual = methods.includes("GET") ? "GET" : methods[0];
  if (usual === undefined) throw new LoomError("tool_invalid", "http_fetch needs one of `methods` at least");
  const tool = defineTool({
    name: "http_fetch",
    description: "Fetches a page from the web and gives its text. Only public addresses can be reached.",
    approval,
    timeoutMs: timeoutMs + GRACE_MS,
    maxResultCharacters,
    input: describeInput<FetchInput>({
      type: "object",
      properties: {
        url: { type: "string", description: "The whole URL, with http or https" },
        method: { type: "string", enum: [...methods], description: `${usual} when absent` },
        ...(canSend ? SENDING : {}),
      },
      required: ["url"],
      additionalProperties: false,
    }),
    execute: async ({ url, method = usual, body, content_type: contentType }, context) => {
      if (body !== undefined && SAFE.has(method))
        throw new LoomError("invalid_arguments", `A ${method} request has no body.`);
      const asked = { url, method, body, contentType };
      const page = await withDeadline(timeoutMs, context.signal, async (signal) =>
        requestPage(asked, rules, { maxBytes, maxRedirects, userAgent }, signal),
      );
      const isError = page.status >= 400;
      const notes = [`HTTP ${page.status}`];
      if (page.redirects > 0) notes.push(`redirected to ${page.url}`);
      if (page.isCut) notes.push(`cut after ${maxBytes} bytes`);
      // Of an error page that is no text, its status says enough.
      const read = isError ? tryDecode : decodePage;
      const text = page.bytes.length === 0 ? "" : read(page.bytes, page.contentType);
      return toolResult({
        text: isError || notes.length > 1 || text === "" ? `[${notes.join(", ")}]\n${text}`.trimEnd() : text,
        output: {
          url: page.url,
          status: page.status,
          content_type: page.contentType,
          bytes: page.bytes.length,
          is_cut: page.isCut,
          redirects: page.redirects,
        },
        isError,
      });
    },
  });
  return refineInput<FetchInput>(tool, (input) => ({
    ...input,
    url: URL.parse(input.url)?.href ?? input.url,
    method: input.method ?? usual,
  }));
}

const SENDING = {
  body: { type: "string", description: "What to send" },
  content_type: { type: "string", description: "Its media type, e.g. application/json", maxLength: 200 },
} as const;

function tryDecode(bytes: Parameters<typeof decodePage>[0], contentType: string): string {
  try {
    return decodePage(bytes, contentType);
  } catch {
    return "";
  }
}
