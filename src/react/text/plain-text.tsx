/** Plain text with its spaces and line breaks. */
import { memo, type ReactNode, useMemo } from "react";
import { createTextCutter } from "./create-text-cutter.ts";

export function PlainText({ text }: { readonly text: string }): ReactNode {
  return (
    <div className="loom-text loom-text-plain" dir="auto">
      <TextPieces text={text} />
    </div>
  );
}

/** The part of a text that is not parsed yet. It may be long and grows with every token. */
export function RestText({ text, clean }: TextPiecesProps): ReactNode {
  return (
    <span className="loom-text-rest">
      <TextPieces text={text} clean={clean} />
    </span>
  );
}

export interface TextPiecesProps {
  readonly text: string;
  /** Transforms each piece for display. Default: unchanged. */
  readonly clean?: ((piece: string) => string) | undefined;
}

/** Renders a text in pieces that are laid out separately. */
export function TextPieces({ text, clean }: TextPiecesProps): ReactNode {
  const cut = useMemo(() => createTextCutter(), []);
  const pieces = cut(text);
  // Pieces never change their order, so the index is a stable key.
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
