/** A heading that expands and collapses its content. Collapsed content is not rendered. */
import { type ReactNode, useId, useState } from "react";
import { Icon } from "./icon.tsx";

export interface DisclosureProps {
  /** Content of the toggle button. */
  readonly summary: ReactNode;
  readonly children: ReactNode;
  /** Initial state if uncontrolled. Default: false. */
  readonly isInitiallyOpen?: boolean;
  /** Makes the component controlled; `onToggle` then reports the requested state. */
  readonly isOpen?: boolean | undefined;
  /** Called with the requested state. */
  readonly onToggle?: ((isOpen: boolean) => void) | undefined;
}

/**
 * Shows a summary that expands and collapses its children.
 *
 * ```tsx
 * <Disclosure summary="Thoughts">…</Disclosure>
 * ```
 */
export function Disclosure({
  summary,
  children,
  isInitiallyOpen = false,
  isOpen,
  onToggle,
}: DisclosureProps): ReactNode {
  const [own, setOwn] = useState(isInitiallyOpen);
  const id = useId();
  const shown = isOpen ?? own;
  const toggle = (): void => {
    setOwn(!shown);
    onToggle?.(!shown);
  };
  return (
    <div className="loom-disclosure" data-open={shown}>
      <button
        type="button"
        className="loom-disclosure-summary"
        aria-expanded={shown}
        aria-controls={shown ? id : undefined}
        onClick={toggle}
      >
        <Icon name={shown ? "down" : "open"} />
        {summary}
      </button>
      {shown ? (
        <div id={id} className="loom-disclosure-body">
          {children}
        </div>
      ) : null}
    </div>
  );
}
