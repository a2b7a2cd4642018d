/** A page that receives any dialect; its bundle size is measured. */
export { createReceiver, MessageStreamHandler } from "../../src/client/index.ts";
