/** Settings of the user's data: export the current session, delete all sessions. */
import { type ReactNode, useId, useState } from "react";
import { Button, formatNumber, Icon, useUi, useWords } from "../../../src/react/page-parts.ts";
import { usePage, usePageState } from "../shell/page-context.tsx";
import { may } from "../store/access.ts";
import type { PageState } from "../store/page-state.ts";
import { findRow } from "../store/sessions.ts";
import { SETTINGS_WORDS } from "./settings-words.ts";

/** An administrator lists the sessions of all owners, so that "all" would be too many. */
const selectMayDelete = ({ access }: PageState): boolean =>
  may(access, "write") && may(access, "read") && !access.scopes.includes("admin");

export function DataSettings(): ReactNode {
  const words = useWords(SETTINGS_WORDS);
  const session = usePageState(({ sessions }) => findRow(sessions, sessions.current)?.session_id);
  const mayDelete = usePageState(selectMayDelete);
  if (session === undefined && !mayDelete) return null;
  return (
    <Section title={words.data}>
      {session === undefined ? null : <ExportSession session={session} />}
      {mayDelete ? <DeleteAll /> : null}
    </Section>
  );
}

function ExportSession({ session }: { readonly session: string }): ReactNode {
  const words = useWords(SETTINGS_WORDS);
  const page = usePage();
  return (
    <div className="page-setting page-setting-tall" role="group" aria-label={words.export}>
      <span>{words.export}</span>
      <div className="page-setting-buttons">
        <Button icon="download" onClick={() => void page.exportSession("markdown")}>
          Markdown
        </Button>
        <Button icon="download" onClick={() => void page.exportSession("html")}>
          HTML
        </Button>
        <a
          className="loom-button loom-button-quiet"
          href={`./v1/sessions/${encodeURIComponent(session)}/export`}
          download
          title={words.exportHint}
        >
          <Icon name="download" />
          {words.allEvents}
        </a>
      </div>
    </div>
  );
}

function DeleteAll(): ReactNode {
  const words = useWords(SETTINGS_WORDS);
  const { language } = useUi();
  const page = usePage();
  const [phase, setPhase] = useState<"idle" | "sure" | "done" | number>("idle");
  const remove = async (): Promise<void> => {
    setPhase(0);
    const isDone = await page.removeAll((left) => setPhase(left));
    setPhase(isDone ? "done" : "idle");
  };
  if (phase === "sure")
    return (
      <div className="page-setting page-setting-tall">
        <p role="alert">{words.removeSure}</p>
        <div className="page-setting-buttons">
          <Button variant="danger" icon="remove" onClick={() => void remove()}>
            {words.removeNow}
          </Button>
          <Button onClick={() => setPhase("idle")}>{words.cancel}</Button>
        </div>
      </div>
    );
  return (
    <div className="page-setting page-setting-tall">
      <div className="page-setting-buttons">
        <Button variant="danger" icon="remove" disabled={typeof phase === "number"} onClick={() => setPhase("sure")}>
          {words.remove}
        </Button>
      </div>
      <p className="page-soft" role="status">
        {typeof phase === "number"
          ? words.removing(formatNumber(phase, language))
          : phase === "done"
            ? words.removed
            : ""}
      </p>
    </div>
  );
}

/** A group of settings with a heading. */
export function Section({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactNode {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      {children}
    </section>
  );
}
