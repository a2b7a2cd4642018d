/** React hooks on the receiver. React is an optional peer: nothing else of this package imports it. */
export { useMessage, useReceiver, useSession, useTurn } from "./use-receiver.ts";
export { useStore } from "./use-store.ts";
