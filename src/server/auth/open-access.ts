/** Access control when authentication is off, the default on localhost: every caller is the local user. */
import { allowAll } from "./authorize.ts";
import type { Access, Identity } from "./access.ts";
import { LOCAL } from "./principal.ts";

const IDENTITY: Identity = { principal: LOCAL, shares: [] };
const ignore = (): void => undefined;

export const OPEN_ACCESS: Access = {
  isOpen: true,
  authService: undefined,
  identify: () => Promise.resolve(IDENTITY),
  authorize: allowAll,
  watch: () => ignore,
  runSearch: (_caller, _signal, search) => search(),
  admitRun: () => Promise.resolve(),
  admitTurn: () => Promise.resolve(),
  countTokens: ignore,
  observers: [],
  close: () => Promise.resolve(),
};
