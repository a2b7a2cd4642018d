/** A page that uses only the hooks; its bundle size is measured. */
export { useMessage, useRun, useSession } from "../../src/react/index.ts";
export { useReceiver, useStore } from "../../src/react/use-receiver.ts";
