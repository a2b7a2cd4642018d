/**
 * Shows the page to users with access, and sign-in or an error to others. Nothing is rendered until access is known.
 */
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
const selectHasFailed = ({ access }: PageState): boolean => access.failure !== undefined;

export function Gate(): ReactNode {
  const phase = usePageState(selectPhase);
  switch (phase) {
    case "checking":
      return <CheckingAccess />;
    case "signed-out":
      return (
        <SignedOutPage>
          <SignIn />
        </SignedOutPage>
      );
    case "invalid-link":
      return (
        <SignedOutPage>
          <InvalidLink />
        </SignedOutPage>
      );
    case "open":
    case "signed-in":
    case "shared":
      return <Shell />;
  }
}

/** Layout of the sign-in and invalid-link screens, with the language and theme menus. */
function SignedOutPage({ children }: { readonly children: ReactNode }): ReactNode {
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

/** Delay before "Connecting…" appears, so that it does not flash. */
const CHECKING_MS = 500;

function CheckingAccess(): ReactNode {
  const words = useWords(ACCESS_WORDS);
  const hasFailed = usePageState(selectHasFailed);
  const isLate = useIsLate(CHECKING_MS);
  if (!isLate && !hasFailed) return null;
  return (
    <p className="page-loading page-asking" role="status">
      <Spinner /> {hasFailed ? words.unreachable : words.connecting}
    </p>
  );
}

function InvalidLink(): ReactNode {
  const words = useWords(ACCESS_WORDS);
  const page = usePage();
  useEffect(() => {
    document.title = `${words.invalidLinkTitle} – Loom`;
  }, [words]);
  return (
    <section className="page-sign-in" role="alert">
      <h1>{words.invalidLinkTitle}</h1>
      <p>{words.invalidLink}</p>
      <div>
        <Button onClick={() => page.leaveLink()}>{words.ownSessions}</Button>
      </div>
    </section>
  );
}
