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
import { declareShape } from "./common-shapes.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** One second to ten years. */
const lifetime: Schema = { kind: "integer", min: 1000, max: 3650 * DAY_MS };

const expiresAt = optional(count, "Expiry, Unix time in milliseconds; absent: does not expire");

const SHARE_FIELDS = {
  share_id: required(string, "Id of the link; it does not grant access"),
  created_at: required(count, "Creation time, Unix time in milliseconds"),
  expires_at: expiresAt,
  opened: required(count, "How often the link was opened"),
  opened_at: optional(count, "When the link was last opened, Unix time in milliseconds"),
} satisfies Fields;

const thisMachineOnly = required(
  boolean,
  "Whether links to this server open on the server's machine only, because its address is a loopback address",
);

export const AUTH_SHAPES = {
  ErasedOwner: declareShape("What was erased of an owner", {
    owner: required(string, "Name of the owner"),
    sessions: required(count, "Number of sessions"),
    blobs: required(count, "Number of images and files"),
    tokens: required(count, "Number of tokens"),
    shares: required(count, "Number of share links"),
    sign_ins: required(count, "Number of browser sign-ins and unused tickets"),
    usage_records: required(count, "Number of daily usage records"),
  }),
  Auth: declareShape("Identity and permissions of the caller", {
    mode: required(
      oneOf("open", "required", "links"),
      "Whether authentication is off (`open`) or on (`required`); `links`: it is off, and this caller can only open share links",
    ),
    signed_in: required(boolean, "Whether the caller has signed in: with a token, a JWT or the server's own login"),
    kind: optional(oneOf("token", "jwt", "user", "share"), "Kind of credential"),
    name: optional(string, "Name of the token or user, or subject of the JWT"),
    owner: optional(string, "Owner whose sessions the caller can access"),
    scopes: required(listOf(string), "Scopes of the caller"),
    session_id: optional(string, "Session that a share link grants access to"),
    shared_session_ids: required(listOf(string), "Sessions this browser can read through share links"),
    expires_at: expiresAt,
  }),
  SignIn: declareShape("Credential to sign in with", {
    credential: required(string, "Token, JWT, or secret of a share link"),
  }),
  CreateTicket: declareShape("Restrictions of a ticket", {
    session_id: optional(string, "Session the ticket is valid for; default: all sessions of the caller"),
  }),
  Ticket: declareShape("One-time credential for requests that cannot send headers", {
    ticket: required(string, "Value of `?ticket=` for one request"),
    expires_at: required(count, "Expiry, Unix time in milliseconds"),
  }),
  CreateShare: declareShape("Lifetime of a share link", {
    expires_in_ms: optional(lifetime, "Lifetime in milliseconds; default: 7 days"),
    never_expires: optional(boolean, "Whether the link is valid until it is revoked, instead of `expires_in_ms`"),
  }),
  NewShare: declareShape("Link that grants read access to a session", {
    ...SHARE_FIELDS,
    secret: required(string, "Secret of the link; returned only once"),
    url: required(string, "URL to share"),
    this_machine_only: thisMachineOnly,
  }),
  Shares: declareShape("Share links of a session", {
    shares: required(listOf(objectOf(SHARE_FIELDS)), "Valid links, newest first"),
    this_machine_only: thisMachineOnly,
  }),
} as const satisfies { readonly [name: string]: Shape };
