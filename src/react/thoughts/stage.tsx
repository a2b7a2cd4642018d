/** What a run is doing just now (003 §4.2), in one line. */
import type { ReactNode } from "react";
import type { TurnView } from "../../client/index.ts";

export type Stage =
  | { readonly kind: "starting" | "thinking" | "searching" | "planning" | "answering" | "working" }
  | { readonly kind: "calling" | "approval"; readonly tool: string };

/** Undefined where it is over. */
export function findStage(turn: TurnView): Stage | undefined {
  return turn.status === "running" ? { kind: "starting" } : undefined;
}

export function StageLine({ turn }: { readonly turn: TurnView }): ReactNode {
  return findStage(turn)?.kind ?? null;
}
