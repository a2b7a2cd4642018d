/** A page that uses only the hooks; its bundle size is measured. */
export { useMessage, useReceiver, useRun, useSession, useStore } from "../../src/react/index.ts";
