/** Loading status of a run's frames: loading, failed, or frames omitted. */
import type { ReactNode } from "react";
import { Badge, Button, formatNumber, Spinner, useUi, useWords } from "../../../src/react/page-parts.ts";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import type { FramesState } from "./frame-store.ts";

export interface ReadingNoteProps {
  readonly view: FramesState;
  /** The run is live, so loading continues until it ends. */
  readonly isLive: boolean;
  readonly retry: () => void;
}

export function ReadingNote({ view, isLive, retry }: ReadingNoteProps): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  const { language } = useUi();
  const { status, error, omitted } = view;
  return (
    <span className="page-inspector-reading">
      {status === "reading" ? (
        <Badge tone="busy">
          <Spinner />
          {isLive ? words.live : words.reading}
        </Badge>
      ) : null}
      {status === "failed" ? (
        <>
          <Badge tone="bad">{words.failed(error ?? "")}</Badge>
          <Button icon="retry" onClick={retry}>
            {words.tryAgain}
          </Button>
        </>
      ) : null}
      {omitted > 0 ? <Badge tone="warn">{words.omitted(formatNumber(omitted, language))}</Badge> : null}
    </span>
  );
}
