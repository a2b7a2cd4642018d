/**
 * The `http_fetch` tool. Only public addresses can be fetched unless an option allows others, because a page can trick
 * the model into requests to the internal network.
 */
import { LoomError } from "../../protocol/index.ts";
import {
  acceptInteger,
  acceptListOf,
  acceptNumber,
  acceptNumberAbove,
  ANY_OPTION,
  FUNCTION_OPTION,
  type OptionTable,
  readOptions,
  TEXT_OPTION,
  TEXTS_OPTION,
  withDefault,
} from "../../protocol/read-options.ts";
import { defineTool, refineInput } from "../define-tool.ts";
import { describeInput } from "../describe-input.ts";
import type { ApprovalPolicy, Tool } from "../tool.ts";
import { nameSubject } from "../summarize-tool.ts";
import { toolResult } from "../tool-result.ts";
import { decodePage } from "./decode-page.ts";
import type { ResolveHost } from "./check-url.ts";
import { requestPage } from "./request-page.ts";

/** Options of `createFetchTool`. */
export interface FetchToolOptions {
  /**
   * Hosts that can be fetched although they are not public: `host`, or `host:port` to also allow that port. Default:
   * none.
   */
  readonly allow?: readonly string[];
  /** Allowed ports. Default: 80 and 443. Code `url_refused`. */
  readonly ports?: readonly number[];
  /** Allowed methods. Default: GET and HEAD. Calls without a method use GET, or the first of these. */
  readonly methods?: readonly FetchMethod[];
  /** When the user must approve a call. Default: for methods other than GET and HEAD. */
  readonly approval?: ApprovalPolicy<FetchInput>;
  /** Maximum size of a page after decompression, in bytes; the rest is truncated. Default: 1,048,576. */
  readonly maxBytes?: number;
  /** Maximum number of redirects. Default: 5. Code `url_refused`. */
  readonly maxRedirects?: number;
  /** Time limit for the whole fetch, including DNS, in milliseconds. Default: 20,000. Code `tool_timeout`. */
  readonly timeoutMs?: number;
  /** Maximum length of the page text for the model, in characters. Default: 50,000. */
  readonly maxResultCharacters?: number;
  /** `User-Agent` header. Default: `loom-agent`. */
  readonly userAgent?: string;
  /** Returns all addresses of a host name. Default: the resolver of the system. */
  readonly resolve?: ResolveHost;
}

export type FetchMethod = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Arguments of the `http_fetch` tool. */
export interface FetchInput {
  readonly url: string;
  readonly method?: FetchMethod;
  readonly body?: string;
  readonly content_type?: string;
}

const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD"]);
/** Lets the deadline of the fetch fire before the timeout of the tool, because its message is more specific. */
const GRACE_MS = 1000;

const METHODS: ReadonlySet<unknown> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);

/** `defineTool` checks `approval`. */
const FETCH_OPTIONS = {
  allow: withDefault(TEXTS_OPTION, []),
  ports: acceptListOf("an array of port numbers", Number.isSafeInteger),
  methods: withDefault<readonly FetchMethod[]>(
    acceptListOf(`an array of ${[...METHODS].join(", ")}`, (method) => METHODS.has(method)),
    ["GET", "HEAD"],
  ),
  approval: withDefault<ApprovalPolicy<FetchInput>>(ANY_OPTION, ({ method = "GET" }) => !SAFE.has(method)),
  maxBytes: withDefault(acceptNumber(0), 1024 * 1024),
  maxRedirects: withDefault(acceptNumber(0), 5),
  timeoutMs: withDefault(acceptNumberAbove(0), 20_000),
  maxResultCharacters: withDefault(acceptInteger(1), 50_000),
  userAgent: TEXT_OPTION,
  resolve: FUNCTION_OPTION,
} as const satisfies OptionTable<FetchToolOptions>;

/**
 * Creates the `http_fetch` tool, which fetches a page from the web and returns its text. HTML is reduced to readable
 * text.
 *
 * Throws `tool_invalid` if `methods` is empty, and `invalid_arguments` for a wrong option.
 */
export function createFetchTool(options: FetchToolOptions = {}): Tool {
  const { allow, ports, methods, approval, maxBytes, maxRedirects, timeoutMs, ...others } = readOptions(
    FETCH_OPTIONS,
    options,
  );
  const { maxResultCharacters, userAgent, resolve } = others;
  const rules = { allow: allow.map((host) => host.toLowerCase()), ports, resolve };
  const canSend = methods.some((method) => !SAFE.has(method));
  const usual = methods.includes("GET") ? "GET" : methods[0];
  if (usual === undefined) throw new LoomError("tool_invalid", "http_fetch: `methods` must have at least one method");
  const tool = defineTool({
    name: "http_fetch",
    title: { en: "Fetch a web page", zh: "获取网页" },
    summarize: ({ url, method = usual }) =>
      nameSubject(
        SAFE.has(method)
          ? { en: "Fetch a web page", zh: "获取网页" }
          : { en: `Send a ${method} request`, zh: `发送 ${method} 请求` },
        url,
      ),
    description: "Fetches a web page and returns its text. Only public addresses can be reached.",
    approval,
    timeoutMs: timeoutMs + GRACE_MS,
    maxResultCharacters,
    input: describeInput<FetchInput>({
      type: "object",
      properties: {
        url: { type: "string", description: "Full URL with http or https" },
        method: { type: "string", enum: [...methods], description: `Default: ${usual}` },
        ...(canSend ? BODY_FIELDS : {}),
      },
      required: ["url"],
      additionalProperties: false,
    }),
    execute: async ({ url, method = usual, body, content_type: contentType }, context) => {
      if (body !== undefined && SAFE.has(method))
        throw new LoomError("invalid_arguments", `A ${method} request cannot have a body`);
      const request = { url, method, body, contentType };
      const limits = { maxBytes, maxRedirects, timeoutMs, userAgent };
      const page = await requestPage(request, rules, limits, context.signal);
      const isError = page.status >= 400;
      const notes = [`HTTP ${page.status}`];
      if (page.redirects > 0) notes.push(`redirected to ${page.url}`);
      if (page.isCut) notes.push(`truncated after ${maxBytes} bytes`);
      // For an error page that is not text, the status is enough.
      const read = isError ? tryDecode : decodePage;
      const text = page.bytes.length === 0 ? "" : await read(page.bytes, page.contentType, context.signal);
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
        summary: nameSubject(
          SAFE.has(method)
            ? { en: "Fetched a web page", zh: "已获取网页" }
            : { en: `Sent a ${method} request`, zh: `已发送 ${method} 请求` },
          page.url,
        ),
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

const BODY_FIELDS = {
  body: { type: "string", description: "Request body" },
  content_type: { type: "string", description: "Media type of the body, such as application/json", maxLength: 200 },
} as const;

async function tryDecode(...page: Parameters<typeof decodePage>): Promise<string> {
  try {
    return await decodePage(...page);
  } catch {
    return "";
  }
}
