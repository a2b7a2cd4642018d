/** The title of the browser tab: the session, a mark during its run, and what happened in the background. */
import { useEffect, useMemo } from "react";
import { useWords } from "../../../src/react/page-parts.ts";
import type { SessionAlert } from "../store/alerts.ts";
import type { PageState } from "../store/page-state.ts";
import { findRow } from "../store/sessions.ts";
import { usePageState } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";

/** Approvals come first, because a run waits for them. */
function selectAlert({ alerts }: PageState): SessionAlert | undefined {
  return alerts.findLast(({ kind }) => kind === "approval") ?? alerts.at(-1);
}

export function useTabTitle(title: string, isLive: boolean): void {
  const words = useWords(SHELL_WORDS);
  const alert = usePageState(selectAlert);
  const select = useMemo(
    () =>
      ({ sessions }: PageState) =>
        findRow(sessions, alert?.session)?.title,
    [alert],
  );
  const alerting = usePageState(select) ?? words.untitled;
  useEffect(() => {
    document.title =
      alert === undefined
        ? `${isLive ? "● " : ""}${title} – Loom`
        : `${words.alertTitle(alert.kind)}: ${alerting} – Loom`;
  }, [title, isLive, alert, alerting, words]);
}
