/** What the command line needs to maintain the file of a store. */
export { renewSessions } from "./sqlite/renew-sessions.ts";
export { type StoreDamage, type VerifiedStore, verifyStore } from "./sqlite/verify-store.ts";
