/** Failure notices, shown until dismissed. */
import type { ReactNode } from "react";
import { Icon, IconButton, useWords } from "../../../src/react/page-parts.ts";
import type { PageState } from "../store/page-state.ts";
import { useMay, usePage, usePageState } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";

const selectNotices = ({ notices }: PageState): PageState["notices"] => notices;

export function Notices(): ReactNode {
  const words = useWords(SHELL_WORDS);
  const page = usePage();
  const notices = usePageState(selectNotices);
  return (
    <div className="page-notices" role="region" aria-label={words.notices} aria-live="assertive">
      {notices.map(({ id, task, code, message, reference }) => {
        const own = describeOwn(code, message, words);
        return (
          <div key={id} className="page-notice">
            <Icon name="alert" />
            <div className="page-notice-text">
              <strong>{words.task(task)}</strong>
              <span>{own ?? message}</span>
              {own !== undefined ? null : (
                <span className="page-notice-code">
                  <code>{code}</code>
                  {reference === undefined ? null : <code title={words.reference}>{reference}</code>}
                </span>
              )}
            </div>
            <IconButton
              icon="close"
              label={words.dismiss}
              onClick={() => page.dispatch({ type: "notice/closed", id })}
            />
          </div>
        );
      })}
    </div>
  );
}

/** Failures that the page itself found; others have the message of the server. */
function describeOwn(code: string, message: string, words: (typeof SHELL_WORDS)["en"]): string | undefined {
  if (code === "too_many") return words.tooMany(message);
  if (code === "failed_file") return words.failedFile(message);
  if (code === "too_long") return words.tooLong;
  return code === "storage_full" ? words.storageFull : undefined;
}

const selectAnnouncement = ({ announcement }: PageState): PageState["announcement"] => announcement;

/** Live region for screen readers. It announces that an answer is complete, not its text. */
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
