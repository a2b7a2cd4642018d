/** Shows a component after a user has pressed some of its buttons. */
import { type ReactNode, useEffect, useRef } from "react";

export interface PressedProps {
  /** The buttons to press, once each. They may appear later. */
  readonly selector: string;
  readonly children: ReactNode;
}

export function Pressed({ selector, children }: PressedProps): ReactNode {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const root = element.current;
    if (root === null || selector === "") return undefined;
    const pressed = new WeakSet<Element>();
    const press = (): void => {
      for (const button of root.querySelectorAll<HTMLElement>(selector)) {
        if (pressed.has(button)) continue;
        pressed.add(button);
        button.click();
      }
    };
    const observer = new MutationObserver(press);
    observer.observe(root, { subtree: true, childList: true });
    press();
    return () => observer.disconnect();
  }, [selector]);
  return <div ref={element}>{children}</div>;
}
