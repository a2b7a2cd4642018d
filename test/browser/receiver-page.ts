/** What a page needs to receive frames of our own wire that it gets by itself, and no more. */
export { createLoomReceiver } from "../../src/client/index.ts";
