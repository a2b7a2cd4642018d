/** Attaches files that are dropped on the conversation. */
import { type DragEvent, type ReactNode, useEffect, useState } from "react";
import { Icon, useWords } from "loom-agent/react";
import { useMay, usePage } from "./page-context.tsx";
import { SHELL_WORDS } from "./shell-words.ts";

export interface DropAreaProps {
  readonly className: string;
  readonly children: ReactNode;
  /** Covered by a panel. */
  readonly isInert: boolean;
}

export function DropArea({ className, children, isInert }: DropAreaProps): ReactNode {
  const words = useWords(SHELL_WORDS);
  const page = usePage();
  const [mayWrite, mayRun] = [useMay("write"), useMay("run")];
  const mayAttach = mayWrite && mayRun;
  const [isOver, setOver] = useState(false);
  // Otherwise the browser would leave the page to open the file.
  useEffect(() => {
    const refuse = (event: globalThis.DragEvent): void => {
      if (event.defaultPrevented || event.dataTransfer?.types.includes("Files") !== true) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "none";
    };
    addEventListener("dragover", refuse);
    addEventListener("drop", refuse);
    return () => {
      removeEventListener("dragover", refuse);
      removeEventListener("drop", refuse);
    };
  }, []);
  const hasFiles = (event: DragEvent): boolean => mayAttach && event.dataTransfer.types.includes("Files");
  return (
    <main
      className={className}
      inert={isInert}
      onDragOver={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={(event) => {
        // Entering a child element is not leaving.
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(false);
        page.attach([...event.dataTransfer.files]);
      }}
    >
      {children}
      {isOver ? (
        <div className="page-drop">
          <Icon name="upload" />
          {words.dropFiles}
        </div>
      ) : null}
    </main>
  );
}
