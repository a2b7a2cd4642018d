/** Why the server does not accept the page, or why an empty conversation cannot be loaded, with what to change. */
import type { ReactNode } from "react";
import type { SessionView } from "../../client/index.ts";
import type { StreamReason } from "../../client/view.ts";
import { cutText } from "../../protocol/cut-text.ts";
import { Icon } from "../ui/icon.tsx";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({
  en: {
    connection: "Connection",
    origin: (origin: string) => `The server does not allow pages of ${origin}.`,
    devOrigins: (origin: string) =>
      `Restart the server with \`--dev-origins\` or \`--origins ${origin}\`, then reload this page.`,
    origins: (origin: string) => `Restart the server with \`--origins ${origin}\`, then reload this page.`,
    token: "The server did not accept the credentials of this page.",
    tokenMore: "Sign in again, or create a token with `loom token create NAME` and pass it as `token`.",
    refused: "The server refused the requests of this page.",
    lost: "Cannot connect to the server.",
    lostMore: (origin: string) =>
      `It is not running, or it does not allow pages of ${origin}: see its settings \`--dev-origins\` and \`--origins\`.`,
  },
  zh: {
    connection: "连接",
    origin: (origin: string) => `服务器不允许来自 ${origin} 的页面访问。`,
    devOrigins: (origin: string) =>
      `请使用 \`--dev-origins\` 或 \`--origins ${origin}\` 重新启动服务器，然后刷新此页面。`,
    origins: (origin: string) => `请使用 \`--origins ${origin}\` 重新启动服务器，然后刷新此页面。`,
    token: "服务器未接受此页面的凭证。",
    tokenMore: "请重新登录，或使用 `loom token create NAME` 创建令牌，并作为 `token` 传入。",
    refused: "服务器拒绝了此页面的请求。",
    lost: "无法连接到服务器。",
    lostMore: (origin: string) =>
      `服务器未运行，或不允许来自 ${origin} 的页面访问：请检查设置 \`--dev-origins\` 和 \`--origins\`。`,
  },
});

/** Reasons come from the server and may be long. */
const SHOWN_REASON = 500;
const REFUSAL_CODES: readonly string[] = ["forbidden", "unauthorized"];
const LOST_CODES: readonly string[] = ["connection_lost", "connection_refused", "heartbeat_missed", "reconnect_limit"];

/** Selects the reason to show. It stays the same object while the state does. */
export function selectRefusal(session: SessionView | undefined): StreamReason | undefined {
  const reason = session?.state.reason;
  if (reason === undefined) return undefined;
  return REFUSAL_CODES.includes(reason.code) || LOST_CODES.includes(reason.code) ? reason : undefined;
}

export interface ConnectionNoticeProps {
  /** See `selectRefusal`. */
  readonly reason: StreamReason | undefined;
  /** Whether to show a lost connection too. */
  readonly showsLoss: boolean;
}

export function ConnectionNotice({ reason, showsLoss }: ConnectionNoticeProps): ReactNode {
  const words = useWords(WORDS);
  if (reason === undefined || (!showsLoss && LOST_CODES.includes(reason.code))) return null;
  const message = cutText(reason.message, SHOWN_REASON);
  const [lead, more, fact] = describeReason(reason, message, words);
  return (
    <div className="loom-error loom-conversation-notice" role="alert" aria-label={words.connection}>
      <Icon name="alert" />
      <div className="loom-error-body">
        <p className="loom-error-lead">{lead}</p>
        <p className="loom-error-message">
          {more
            .split("`")
            .map((text, index) => (index % 2 === 0 ? text : <code key={`${index} ${text}`}>{text}</code>))}
        </p>
        <p className="loom-error-facts">
          <code>{reason.code}</code>
          {fact === undefined ? null : <span>{fact}</span>}
        </p>
      </div>
    </div>
  );
}

/** What happened, what to change, and the message of the server if neither has it. */
function describeReason(
  reason: StreamReason,
  message: string,
  words: (typeof WORDS)["en"],
): readonly [lead: string, more: string, fact?: string] {
  const origin = globalThis.location?.origin ?? "";
  if (isOriginRefusal(reason))
    return [words.origin(origin), allowsDevOrigins(reason) ? words.devOrigins(origin) : words.origins(origin)];
  if (reason.code === "unauthorized" || isScopeRefusal(reason)) return [words.token, words.tokenMore, message];
  // The message names the option of the server, for example of one without authentication behind a proxy.
  return reason.code === "forbidden" ? [words.refused, message] : [words.lost, words.lostMore(origin), message];
}

function isOriginRefusal({ code, details }: StreamReason): boolean {
  return code === "forbidden" && Array.isArray(details?.["settings"]);
}

function isScopeRefusal({ code, details }: StreamReason): boolean {
  return code === "forbidden" && typeof details?.["scope"] === "string";
}

function allowsDevOrigins({ details }: StreamReason): boolean {
  const settings = details?.["settings"];
  return Array.isArray(settings) && settings.includes("dev-origins");
}
