/**
 * The run around a component, for actions on the whole run. It is read on demand: passing the run as a value would
 * re-render everything with each token.
 */
import { createContext, use } from "react";
import type { TurnView } from "../../client/index.ts";

export interface RunContextValue {
  readonly turnKey: string;
  /** Returns the current state of the run. */
  getTurn(): TurnView | undefined;
}

export const RunContext = createContext<RunContextValue>({ turnKey: "", getTurn: () => undefined });

export function useRunContext(): RunContextValue {
  return use(RunContext);
}
