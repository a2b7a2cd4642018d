/** Text as it is, its spaces and line breaks kept. */
import { memo, type ReactNode, useMemo } from "react";
import { createTextCutter } from "./create-text-cutter.ts";

export function PlainText({ text }: { readonly text: string }): ReactNode {
  return (
    <div className="loom-text loom-text-plain" dir="auto">
      <TextPieces text={text} />
    </div>
  );
}

/** What came since the rest of a text was read: it may be long, and grows with every token. */
export function RestText({ text, clean }: TextPiecesProps): ReactNode {
  return (
    <span className="loom-text-rest">
      <TextPieces text={text} clean={clean} />
    </span>
  );
}

export interface TextPiecesProps {
  readonly text: string;
  /** What is shown of a piece; all of it unless told otherwise. */
  readonly clean?: ((piece: string) => string) | undefined;
}

/** Pieces below each other, each laid out by itself. */
export function TextPieces({ text, clean }: TextPiecesProps): ReactNode {
  const cut = useMemo(() => createTextCutter(), []);
  const pieces = cut(text);
  // Their place is what they are known by: a piece never changes its place.
  return pieces.length === 1
    ? show(text, clean)
    : pieces.map((piece, index) => <Piece key={index} text={piece} clean={clean} />);
}

const Piece = memo(function Piece({ text, clean }: TextPiecesProps): ReactNode {
  return <span className="loom-text-piece">{show(text, clean)}</span>;
});

function show(text: string, clean: TextPiecesProps["clean"]): string {
  return clean === undefined ? text : clean(text);
}
