/** Who may see the page sees it; everybody else sees why not, and what to do. Nothing is shown before that is known. */
import { type ReactNode, useEffect } from "react";
import { Button, Spinner, useWords } from "loom-agent/react";
import { useIsLate } from "../composer/use-is-late.ts";
import { usePage, usePageState } from "../shell/page-context.tsx";
import { Shell } from "../shell/shell.tsx";
import { LanguageMenu, ThemeMenu } from "../shell/theme-menu.tsx";
import type { AccessPhase } from "../store/access.ts";
import type { PageState } from "../store/page-state.ts";
import { ACCESS_WORDS } from "./access-words.ts";
import { SignIn } from "./sign-in.tsx";

const selectPhase = ({ access }: PageState): AccessPhase => access.phase;
const selectIsTroubled = ({ access }: PageState): boolean => access.trouble !== undefined;

export function Gate(): ReactNode {
  const phase = usePageState(selectPhase);
  switch (phase) {
    case "asking":
      return <Asking />;
    case "out":
      return (
        <Porch>
          <SignIn />
        </Porch>
      );
    case "unlinked":
      return (
        <Porch>
          <Unlinked />
        </Porch>
      );
    case "open":
    case "in":
    case "shared":
      return <Shell />;
  }
}

/** What stands outside has the language and the colours of the page. */
function Porch({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <div className="page-porch">
      <div className="page-porch-settings">
        <LanguageMenu />
        <ThemeMenu />
      </div>
      <main>{children}</main>
    </div>
  );
}

/** An answer that comes at once is not waited for. */
const ASKING_MS = 500;

function Asking(): ReactNode {
  const words = useWords(ACCESS_WORDS);
  const isTroubled = usePageState(selectIsTroubled);
  const isLate = useIsLate(ASKING_MS);
  if (!isLate && !isTroubled) return null;
  return (
    <p className="page-loading page-asking" role="status">
      <Spinner /> {isTroubled ? words.unreachable : words.asking}
    </p>
  );
}

function Unlinked(): ReactNode {
  const words = useWords(ACCESS_WORDS);
  const page = usePage();
  useEffect(() => {
    document.title = `${words.unlinkedTitle} – Loom`;
  }, [words]);
  return (
    <section className="page-sign-in" role="alert">
      <h1>{words.unlinkedTitle}</h1>
      <p>{words.unlinked}</p>
      <div>
        <Button onClick={() => page.leaveLink()}>{words.elsewhere}</Button>
      </div>
    </section>
  );
}
