/**
 * Shows the page to users with access, and sign-in or an error to others. Nothing is rendered until access is known.
 */
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import { Button, Spinner, useWords } from "../../../src/react/page-parts.ts";
import { usePage, usePageState } from "../shell/page-context.tsx";
import { Shell } from "../shell/shell.tsx";
import { LanguageMenu, ThemeMenu } from "../shell/theme-menu.tsx";
import { ACCESS_WORDS } from "./access-words.ts";

const SignIn = lazy(async () => ({ default: (await import("./sign-in.tsx")).SignIn }));

export function Gate(): ReactNode {
  const words = useWords(ACCESS_WORDS);
  const phase = usePageState(({ access }) => access.phase);
  switch (phase) {
    case "checking":
      return <CheckingAccess />;
    case "signed-out":
      return (
        <SignedOutPage>
          <Suspense fallback={null}>
            <SignIn />
          </Suspense>
        </SignedOutPage>
      );
    case "invalid-link":
      return (
        <SignedOutPage>
          <NoLink title={words.invalidLinkTitle} text={words.invalidLink} canLeave />
        </SignedOutPage>
      );
    case "links-only":
      return (
        <SignedOutPage>
          <NoLink title={words.linksOnlyTitle} text={words.linksOnly} />
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
  const hasFailed = usePageState(({ access }) => access.failure !== undefined);
  const isLate = useIsLate(CHECKING_MS);
  if (!isLate && !hasFailed) return null;
  return (
    <p className="page-loading page-asking" role="status">
      <Spinner /> {hasFailed ? words.unreachable : words.connecting}
    </p>
  );
}

interface NoLinkProps {
  readonly title: string;
  readonly text: string;
  /** Offers the user's own sessions. */
  readonly canLeave?: boolean;
}

function NoLink({ title, text, canLeave = false }: NoLinkProps): ReactNode {
  const words = useWords(ACCESS_WORDS);
  const page = usePage();
  useEffect(() => {
    document.title = `${title} – Loom`;
  }, [title]);
  return (
    <section className="page-sign-in" role="alert">
      <h1>{title}</h1>
      <p>{text}</p>
      {canLeave ? (
        <div>
          <Button onClick={() => page.leaveLink()}>{words.ownSessions}</Button>
        </div>
      ) : null}
    </section>
  );
}

/**
 * Returns true once the component has been mounted for this time. Used to delay spinners, so that they do not flash.
 */
function useIsLate(ms: number): boolean {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return isLate;
}
