/**
 * All threats of the threat model, by ID. Security tests name the threat that they test, the table at the end of a test
 * run counts the attempts per threat, and `docs/threats.md` has a row for each.
 */
export const THREATS = {
  "socket-hijack": "cross-site WebSocket hijacking",
  "dns-rebinding": "DNS rebinding",
  csrf: "cross-site request forgery",
  clickjacking: "clickjacking",
  "foreign-origins": "requests from other origins",
  "other-owners": "access to sessions of other owners",
  "missing-scopes": "actions without the required scope",
  "ticket-replay": "replayed, expired or misused tickets",
  "revoked-credentials": "revoked and expired credentials",
  "guessed-credentials": "guessed and forged tokens",
  "secrets-at-rest": "secrets at rest",
  "jwt-forgery": "forged JWTs",
  "unintended-exposure": "unintended exposure to the network",
  "websocket-abuse": "WebSocket abuse",
  "http-abuse": "HTTP abuse",
  "request-smuggling": "request smuggling",
  "json-abuse": "JSON abuse",
  "frame-injection": "frame injection",
  "leaks-in-errors": "information leaks in errors",
  "secrets-in-logs": "secrets in logs",
  ssrf: "server-side request forgery",
  "path-traversal": "path traversal",
  "prompt-injection": "prompt injection",
  "stolen-approvals": "stolen and replayed approvals",
  "stored-xss": "stored cross-site scripting",
  flooding: "flooding and overspending",
  dependencies: "supply-chain attacks",
} as const;

export type Threat = keyof typeof THREATS;
