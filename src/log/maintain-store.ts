/** What the command line needs to maintain the file of a store. */
export { renewSessions } from "./sqlite/renew-sessions.ts";
export { verifyStore } from "./sqlite/verify-store.ts";
