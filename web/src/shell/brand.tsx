/** The mark of Loom: two threads woven through two others. The favicon, `icon.svg`, is the same drawing. */
import type { ReactNode } from "react";

export function Mark(): ReactNode {
  return (
    <svg className="page-mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" />
      <path d="M11 5v12M11 25v2M21 5v2M21 15v12M5 11h2M15 11h12M5 21h12M25 21h2" />
    </svg>
  );
}

/** The mark and the name. */
export function Brand(): ReactNode {
  return (
    <p className="page-brand">
      <Mark />
      Loom
    </p>
  );
}
