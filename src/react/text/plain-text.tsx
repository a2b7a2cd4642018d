/** Text as it is, its spaces and line breaks kept. */
import { memo, type ReactNode, useMemo } from "react";
import { createTextCutter } from "./cut-text.ts";

export function PlainText({ text }: { readonly text: string }): ReactNode {
  return (
    <div className="loom-text loom-text-plain">
      <TextPieces text={text} />
    </div>
  );
}

/** Pieces below each other, each laid out by itself. */
export function TextPieces({ text }: { readonly text: string }): ReactNode {
  const cut = useMemo(() => createTextCutter(), []);
  const pieces = cut(text);
  // Their place is what they are known by: a piece never changes its place.
  return pieces.length === 1 ? text : pieces.map((piece, index) => <Piece key={index} text={piece} />);
}

const Piece = memo(function Piece({ text }: { readonly text: string }): ReactNode {
  return <span className="loom-text-piece">{text}</span>;
});
