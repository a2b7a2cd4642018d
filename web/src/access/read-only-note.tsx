/** Note shown in place of the composer for users who cannot send messages. */
import type { ReactNode } from "react";
import type { SessionView } from "loom-agent/client";
import { Button, Icon, useSession, useWords } from "../../../src/react/page-parts.ts";
import { usePage, usePageState } from "../shell/page-context.tsx";
import type { PageState } from "../store/page-state.ts";
import { ACCESS_WORDS } from "./access-words.ts";

const selectIsShared = ({ access }: PageState): boolean => access.phase === "shared";
const selectCurrent = ({ sessions }: PageState): string => sessions.current ?? "";
const selectHasRun = (session: SessionView | undefined): boolean => (session?.turns.length ?? 0) > 0;

export function ReadOnlyNote(): ReactNode {
  const words = useWords(ACCESS_WORDS);
  const page = usePage();
  const isShared = usePageState(selectIsShared);
  const hasRun = useSession(page.receiver, usePageState(selectCurrent), selectHasRun);
  return (
    <div className="page-read-only" role="note">
      <Icon name={isShared ? "link" : "user"} />
      <span>{isShared ? words.shared : words.readOnly}</span>
      {isShared && hasRun ? (
        <Button
          icon="play"
          onClick={() => page.dispatch({ type: "inspector/opened", focus: undefined, isReplay: true })}
        >
          {words.replay}
        </Button>
      ) : null}
    </div>
  );
}
