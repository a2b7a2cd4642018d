/**
 * The run that a component stands in, for actions that are about the whole of it. It is asked for when it is needed and
 * not given: what is given anew with each token would render everything below.
 */
import { createContext, use } from "react";
import type { TurnView } from "../../client/index.ts";

export interface RunPlace {
  readonly turnKey: string;
  /** As it stands now. */
  getTurn(): TurnView | undefined;
}

export const RunContext = createContext<RunPlace>({ turnKey: "", getTurn: () => undefined });

export function useRunPlace(): RunPlace {
  return use(RunContext);
}
