/** A file by its name and size: a link to it, a button that saves it, or text. */
import type { ReactNode } from "react";
import { Icon } from "../ui/icon.tsx";

export interface AttachedFileProps {
  readonly title: string;
  readonly size: string;
  readonly address?: string | undefined;
  readonly onSave?: (() => void) | undefined;
  readonly hasFailed?: boolean;
}

export function AttachedFile({ title, size, address, onSave, hasFailed = false }: AttachedFileProps): ReactNode {
  const content = (
    <>
      <Icon name={hasFailed ? "alert" : "file"} />
      <span className="loom-attachment-name">{title}</span>
      <span className="loom-attachment-size">{size}</span>
    </>
  );
  if (address !== undefined)
    return (
      <a className="loom-attachment" href={address} download={title}>
        {content}
      </a>
    );
  if (onSave === undefined) return <span className="loom-attachment">{content}</span>;
  return (
    <button type="button" className="loom-attachment" onClick={onSave}>
      {content}
    </button>
  );
}
