/** Who asks, and what they are given to be known by. */
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
/** From a second to ten years. */
const lifetime: Schema = { kind: "integer", min: 1000, max: 3650 * DAY_MS };

const ends = optional(
  count,
  "When it ends, in milliseconds since 1970; absent: never",
  "到期时间（毫秒时间戳）；缺省为永不",
);

const SHARE_FIELDS = {
  share_id: required(string, "Id of the link; it opens nothing", "链接 ID，不能用于访问"),
  created_at: required(count, "When it was made, in milliseconds since 1970", "创建时间（毫秒时间戳）"),
  expires_at: ends,
} satisfies Fields;

export const AUTH_SHAPES = {
  Auth: declareShape("Who asks, and what they may", "访问者身份与权限", {
    mode: required(
      oneOf("open", "required"),
      "Whether anybody is asked who they are",
      "是否要求身份验证：open 为不要求，required 为要求",
    ),
    signed_in: required(boolean, "Whether somebody is known by a token", "是否已用令牌登录"),
    kind: optional(oneOf("token", "jwt", "share"), "What they are known by", "凭据类型"),
    name: optional(string, "The name of the token, or of whom a JWT is for", "令牌名称或 JWT 主体"),
    owner: optional(string, "Whose sessions they see", "可见会话的所有者"),
    scopes: required(listOf(string), "What they may do", "权限范围"),
    session_id: optional(string, "Of a link: the session it is for", "链接对应的会话 ID"),
    shared_session_ids: required(
      listOf(string),
      "Sessions that links let this browser read",
      "此浏览器可经链接读取的会话 ID",
    ),
    expires_at: ends,
  }),
  SignIn: declareShape("What somebody is to be known by", "登录凭据", {
    credential: required(string, "A token, a JWT, or the secret of a link", "令牌、JWT 或链接密钥"),
  }),
  CreateTicket: declareShape("What a ticket is for", "票据用途", {
    session_id: optional(string, "Only this session; any when absent", "仅限此会话；缺省为任意会话"),
  }),
  Ticket: declareShape(
    "What lets somebody in once, where no header can be sent",
    "一次性票据（用于无法发送请求头之处）",
    {
      ticket: required(string, "For `?ticket=` of one request", "用于一次请求的 ?ticket= 参数"),
      expires_at: required(count, "When it ends, in milliseconds since 1970", "到期时间（毫秒时间戳）"),
    },
  ),
  CreateShare: declareShape("How long a link is good", "链接有效期", {
    expires_in_ms: optional(
      lifetime,
      "For so long from now, in milliseconds; until it is taken back when absent",
      "有效时长（毫秒）；缺省为直至撤销",
    ),
  }),
  NewShare: declareShape("A link that lets anybody who has it read a session", "会话只读链接", {
    ...SHARE_FIELDS,
    secret: required(string, "What is to be kept secret; never told again", "密钥，仅此一次返回"),
    url: required(string, "The address to hand on", "可分享的地址"),
  }),
  Shares: declareShape("The links to a session", "会话的链接", {
    shares: required(listOf(objectOf(SHARE_FIELDS)), "Those that are good, the newest first", "有效链接，新的在前"),
  }),
} as const satisfies { readonly [name: string]: Shape };
