/** Live region for screen readers. It announces that an answer is complete, not its text. */
import type { ReactNode } from "react";
import { useWords } from "../../../src/react/page-parts.ts";
import type { PageState } from "../store/page-state.ts";
import { useMay, usePageState } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";

const selectAnnouncement = ({ announcement }: PageState): PageState["announcement"] => announcement;

export function Announcer(): ReactNode {
  const words = useWords(SHELL_WORDS);
  const announcement = usePageState(selectAnnouncement);
  const mayApprove = useMay("approve");
  const kind = announcement?.kind === "approval" && !mayApprove ? "approvalByOthers" : announcement?.kind;
  const text = kind === undefined ? "" : words[kind];
  return (
    <div className="loom-said" role="status" aria-live="polite">
      {/* A new element each time, so that screen readers repeat an identical text. */}
      <span key={announcement?.count}>{typeof text === "string" ? text : text(announcement?.detail ?? "")}</span>
    </div>
  );
}
