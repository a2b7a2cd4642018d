/** The frames of the run in another dialect than our own. They have no place in the page; the scrubber is not theirs. */
import { type ReactNode, useState } from "react";
import type { DialectName } from "loom-agent/dialects";
import { IconButton, useWords } from "loom-agent/react";
import { downloadFile, makeFile, nameFile } from "./download-frames.ts";
import { FramesView } from "./frames-view.tsx";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import { ReadingNote } from "./reading-note.tsx";
import { type AskedRun, useWireFrames } from "./use-recording.ts";

export interface WireViewProps {
  readonly asked: AskedRun;
  readonly dialect: DialectName;
  readonly onDialect: (dialect: DialectName) => void;
}

export function WireView({ asked, dialect, onDialect }: WireViewProps): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  const [chosen, setChosen] = useState({ dialect, frame: 0 });
  const { wire, view, retry } = useWireFrames(asked, dialect);
  const frame = chosen.dialect === dialect ? chosen.frame : 0;
  return (
    <FramesView
      book={wire}
      count={view.count}
      dialect={dialect}
      onDialect={onDialect}
      isGrowing={view.status === "reading"}
      frame={view.count === 0 ? -1 : frame}
      onSelect={(next) => setChosen({ dialect, frame: next })}
      onShowElement={() => undefined}
      note={
        <>
          <ReadingNote view={view} retry={retry} isLive={asked.isLive} />
          <IconButton
            icon="download"
            label={words.download(dialect)}
            disabled={view.count === 0}
            onClick={() =>
              downloadFile(
                makeFile((index) => wire.frameAt(index)?.text, wire.count),
                nameFile(asked.session, asked.runId, dialect),
              )
            }
          />
        </>
      }
    />
  );
}
