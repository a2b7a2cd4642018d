/** A page that uses only the hooks; its bundle size is measured. */
export { useMessage, useRun, useSession, useStore } from "../../src/react/index.ts";
export { useReceiver } from "../../src/react/use-receiver.ts";
