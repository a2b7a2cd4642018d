/**
 * Frames of the run in a dialect other than `loom`. They have no elements in the conversation and ignore the scrubber.
 */
import { type ReactNode, useState } from "react";
import type { DialectName } from "loom-agent/dialects";
import { IconButton, useWords } from "../../../src/react/page-parts.ts";
import { buildFile, downloadFile, formatFileName } from "./download-frames.ts";
import { formatCurl } from "./format.ts";
import { FramesView } from "./frames-view.tsx";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import { ReadingNote } from "./reading-note.tsx";
import { type InspectedRun, useWireFrames } from "./use-recording.ts";

export interface WireViewProps {
  readonly run: InspectedRun;
  readonly dialect: DialectName;
  readonly onDialect: (dialect: DialectName) => void;
}

export function WireView({ run, dialect, onDialect }: WireViewProps): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  const [chosen, setChosen] = useState({ dialect, frame: 0 });
  const { wire, view, retry } = useWireFrames(run, dialect);
  const frame = chosen.dialect === dialect ? chosen.frame : 0;
  return (
    <FramesView
      frames={wire.frames}
      count={view.count}
      dialect={dialect}
      onDialect={onDialect}
      isGrowing={view.status === "reading"}
      frame={view.count === 0 ? -1 : frame}
      onSelect={(next) => setChosen({ dialect, frame: next })}
      onShowElement={() => undefined}
      curl={() => formatCurl({ base: document.baseURI, session: run.session, runId: run.runId, dialect })}
      note={
        <>
          <ReadingNote view={view} retry={retry} isLive={run.isLive} />
          <IconButton
            icon="download"
            label={words.download(dialect)}
            disabled={view.count === 0}
            onClick={() =>
              downloadFile(
                buildFile((index) => wire.frames.frameAt(index)?.text, view.count),
                formatFileName(run.session, run.runId, dialect),
              )
            }
          />
        </>
      }
    />
  );
}
