/** The one place that speaks to those who listen: that an answer is complete, not what it says. */
import type { ReactNode } from "react";
import { useWords } from "loom-agent/react";
import type { PageState } from "../store/page-state.ts";
import { useMay, usePageState } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";

const selectAnnouncement = ({ announcement }: PageState): PageState["announcement"] => announcement;

export function Announcer(): ReactNode {
  const words = useWords(SHELL_WORDS);
  const said = usePageState(selectAnnouncement);
  const mayApprove = useMay("approve");
  const what = said?.what === "approval" && !mayApprove ? "approvalByOthers" : said?.what;
  const text = what === undefined ? "" : words[what];
  return (
    <div className="loom-said" role="status" aria-live="polite">
      {/* A new element for each, so that the same said twice is heard twice. */}
      <span key={said?.count}>{typeof text === "string" ? text : text(said?.detail ?? "")}</span>
    </div>
  );
}
