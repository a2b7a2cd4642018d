/** A heading that opens and closes what is below it. What is closed is not rendered. */
import { type ReactNode, useId, useState } from "react";
import { Icon } from "./icon.tsx";

export interface DisclosureProps {
  readonly summary: ReactNode;
  readonly children: ReactNode;
  readonly isOpenAtFirst?: boolean;
  /** Where somebody else decides; then `onToggle` says what is wanted. */
  readonly isOpen?: boolean | undefined;
  readonly onToggle?: ((isOpen: boolean) => void) | undefined;
}

export function Disclosure({ summary, children, isOpenAtFirst = false, isOpen, onToggle }: DisclosureProps): ReactNode {
  const [own, setOwn] = useState(isOpenAtFirst);
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
