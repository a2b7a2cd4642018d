/** A page that receives only `loom`; its bundle size is measured. */
export { createLoomReceiver } from "../../src/client/index.ts";
