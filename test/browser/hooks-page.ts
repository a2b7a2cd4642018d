/** What a page has that uses the hooks and no component. */
export { useMessage, useReceiver, useRun, useSession, useStore } from "../../src/react/index.ts";
