/** The same for any dialect. */
export { createReceiver, MessageStreamHandler } from "../../src/client/index.ts";
