/** Note shown in place of the composer for users who cannot send messages. */
import type { ReactNode } from "react";
import { Button, Icon, useSession } from "loom-agent/react";
import { useWords } from "../../../src/react/page-parts.ts";
import { usePage, usePageState } from "../shell/page-context.tsx";
import { ACCESS_WORDS } from "./access-words.ts";

export function ReadOnlyNote(): ReactNode {
  const words = useWords(ACCESS_WORDS);
  const page = usePage();
  const isShared = usePageState(({ access }) => access.phase === "shared");
  const hasRun = useSession(
    page.receiver,
    usePageState(({ sessions }) => sessions.current ?? ""),
    (view) => (view?.turns.length ?? 0) > 0,
  );
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
