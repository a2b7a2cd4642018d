/**
 * What a server that runs tools on somebody's machine has to fear, in one list: the tests say which of these they try,
 * the table at the end of a run counts them, and `docs/security.md` has a section for each. It knows no test.
 */
export const THREATS = {
  "socket-hijack": "cross-site WebSocket hijack",
  "dns-rebinding": "DNS rebinding",
  csrf: "cross-site request forgery",
  clickjacking: "clickjacking",
  "foreign-origins": "foreign origins",
  "other-owners": "sessions of other owners",
  "missing-scopes": "missing scopes",
  "ticket-replay": "replayed, late or misdirected tickets",
  "revoked-credentials": "revoked and expired credentials",
  "guessed-credentials": "guessed and forged tokens",
  "secrets-at-rest": "secrets at rest",
  "jwt-forgery": "forged JWTs",
  "open-door": "a server open to all by mistake",
  "websocket-abuse": "WebSocket abuse",
  "http-abuse": "HTTP abuse",
  "request-smuggling": "request smuggling",
  "json-abuse": "JSON abuse",
  "frame-injection": "frames injected into streams",
  "leaks-in-errors": "leaks in errors",
  "secrets-in-logs": "secrets in logs",
  ssrf: "server-side request forgery",
  "path-traversal": "path traversal",
  "prompt-injection": "prompt injection",
  "stolen-approvals": "stolen and replayed approvals",
  "stored-xss": "stored cross-site scripting",
  flooding: "overspending and flooding",
  dependencies: "dependencies",
} as const;

export type Threat = keyof typeof THREATS;
