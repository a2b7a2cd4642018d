/** Shapes of authentication: identity, sign-in, tickets and share links. */
import {
  boolean,
  count,
  type Fields,
  listOf,
  objectOf,
  oneOf,
  optional,
  required,
  type Schema,
  type Shape,
  string,
} from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** One second to ten years. */
const lifetime: Schema = { kind: "integer", min: 1000, max: 3650 * DAY_MS };

const expiresAt = optional(
  count,
  "Expiry, Unix time in milliseconds; absent: does not expire",
  "到期时间（Unix 毫秒时间戳）；缺省表示永不过期",
);

const SHARE_FIELDS = {
  share_id: required(string, "Id of the link; it does not grant access", "链接 ID，不能用于访问"),
  created_at: required(count, "Creation time, Unix time in milliseconds", "创建时间（Unix 毫秒时间戳）"),
  expires_at: expiresAt,
  opened: required(count, "How often the link was opened", "打开次数"),
  opened_at: optional(
    count,
    "When the link was last opened, Unix time in milliseconds",
    "最近一次打开的时间（Unix 毫秒时间戳）",
  ),
} satisfies Fields;

const thisMachineOnly = required(
  boolean,
  "Whether links to this server open on the server's machine only, because its address is a loopback address",
  "链接是否只能在服务器所在的机器上打开（地址为本机回环地址）",
);

export const AUTH_SHAPES = {
  ErasedOwner: declareShape("What was erased of an owner", "已清除的所有者数据", {
    owner: required(string, "Name of the owner", "所有者名称"),
    sessions: required(count, "Number of sessions", "会话数"),
    blobs: required(count, "Number of images and files", "图片与文件数"),
    tokens: required(count, "Number of tokens", "令牌数"),
    shares: required(count, "Number of share links", "分享链接数"),
    sign_ins: required(count, "Number of browser sign-ins and unused tickets", "浏览器登录与未使用票据数"),
    usage_records: required(count, "Number of daily usage records", "每日用量记录数"),
  }),
  Auth: declareShape("Identity and permissions of the caller", "调用方的身份与权限", {
    mode: required(
      oneOf("open", "required", "links"),
      "Whether authentication is off (`open`) or on (`required`); `links`: it is off, and this caller can only open share links",
      "身份验证：open 为关闭，required 为开启；links 表示已关闭，但此调用方只能打开分享链接",
    ),
    signed_in: required(
      boolean,
      "Whether the caller has signed in: with a token, a JWT or the server's own login",
      "是否已通过令牌、JWT 或服务器自身的登录完成登录",
    ),
    kind: optional(oneOf("token", "jwt", "user", "share"), "Kind of credential", "凭据类型"),
    name: optional(string, "Name of the token or user, or subject of the JWT", "令牌或用户名称，或 JWT 主体"),
    owner: optional(string, "Owner whose sessions the caller can access", "所有者；调用方可访问其会话"),
    scopes: required(listOf(string), "Scopes of the caller", "调用方的权限范围"),
    session_id: optional(string, "Session that a share link grants access to", "分享链接对应的会话 ID"),
    shared_session_ids: required(
      listOf(string),
      "Sessions this browser can read through share links",
      "此浏览器可通过分享链接读取的会话",
    ),
    expires_at: expiresAt,
  }),
  SignIn: declareShape("Credential to sign in with", "登录凭据", {
    credential: required(string, "Token, JWT, or secret of a share link", "令牌、JWT 或分享链接的密钥"),
  }),
  CreateTicket: declareShape("Restrictions of a ticket", "票据的适用范围", {
    session_id: optional(
      string,
      "Session the ticket is valid for; default: all sessions of the caller",
      "票据适用的会话；默认为调用方的全部会话",
    ),
  }),
  Ticket: declareShape(
    "One-time credential for requests that cannot send headers",
    "一次性凭据，用于无法发送请求头的请求",
    {
      ticket: required(string, "Value of `?ticket=` for one request", "?ticket= 参数的值，仅可使用一次"),
      expires_at: required(count, "Expiry, Unix time in milliseconds", "到期时间（Unix 毫秒时间戳）"),
    },
  ),
  CreateShare: declareShape("Lifetime of a share link", "分享链接的有效期", {
    expires_in_ms: optional(lifetime, "Lifetime in milliseconds; default: 7 days", "有效时长（毫秒）；默认 7 天"),
    never_expires: optional(
      boolean,
      "Whether the link is valid until it is revoked, instead of `expires_in_ms`",
      "链接是否在撤销前一直有效；与 expires_in_ms 二选一",
    ),
  }),
  NewShare: declareShape("Link that grants read access to a session", "会话的只读分享链接", {
    ...SHARE_FIELDS,
    secret: required(string, "Secret of the link; returned only once", "链接密钥，仅返回一次"),
    url: required(string, "URL to share", "用于分享的 URL"),
    this_machine_only: thisMachineOnly,
  }),
  Shares: declareShape("Share links of a session", "会话的分享链接", {
    shares: required(listOf(objectOf(SHARE_FIELDS)), "Valid links, newest first", "有效的链接，最新的在前"),
    this_machine_only: thisMachineOnly,
  }),
} as const satisfies { readonly [name: string]: Shape };
