/** Attaches files that are dropped anywhere on the page. */
import { type ReactNode, useEffect, useState } from "react";
import { Icon, useWords } from "../../../src/react/page-parts.ts";
import { useMay, usePage } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";

/** Shows where files can be dropped while they are dragged over the page. */
export function DropArea(): ReactNode {
  const words = useWords(SHELL_WORDS);
  const page = usePage();
  const [mayWrite, mayRun] = [useMay("write"), useMay("run")];
  const mayAttach = mayWrite && mayRun;
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const onDrag = (event: DragEvent): void => {
      const { dataTransfer } = event;
      // A dialog may take files itself.
      if (event.defaultPrevented || dataTransfer?.types.includes("Files") !== true) return;
      // Otherwise the browser would leave the page to open the file.
      event.preventDefault();
      const isTaken = mayAttach && document.querySelector("dialog[open]") === null;
      if (!isTaken) dataTransfer.dropEffect = "none";
      setOver(isTaken && event.type !== "drop");
      if (isTaken && event.type === "drop") page.attach([...dataTransfer.files]);
    };
    // Leaving an element for another is not leaving the page.
    const onLeave = ({ relatedTarget }: DragEvent): void => {
      if (relatedTarget === null) setOver(false);
    };
    const end = (): void => setOver(false);
    addEventListener("dragover", onDrag);
    addEventListener("drop", onDrag);
    addEventListener("dragleave", onLeave);
    addEventListener("dragend", end);
    return () => {
      removeEventListener("dragover", onDrag);
      removeEventListener("drop", onDrag);
      removeEventListener("dragleave", onLeave);
      removeEventListener("dragend", end);
    };
  }, [page, mayAttach]);
  if (!isOver) return null;
  return (
    <div className="page-drop">
      <Icon name="upload" />
      {words.dropFiles}
    </div>
  );
}
