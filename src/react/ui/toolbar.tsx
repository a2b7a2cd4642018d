/** A row of buttons that is one Tab stop. Arrow keys, Home and End move between its buttons. */
import { type KeyboardEvent, type ReactNode, useLayoutEffect, useRef } from "react";

export interface ToolbarProps {
  /** Accessible name. */
  readonly label: string;
  readonly className?: string;
  readonly children: ReactNode;
}

export function Toolbar({ label, className, children }: ToolbarProps): ReactNode {
  const root = useRef<HTMLSpanElement>(null);
  const list = (): HTMLButtonElement[] => [
    // The items of a menu handle keys themselves.
    ...(root.current?.querySelectorAll<HTMLButtonElement>("button:enabled:not([role])") ?? []),
  ];
  const choose = (wanted?: Element): void => {
    const buttons = list();
    const chosen = buttons.find((one) => one === wanted) ?? buttons.find((one) => one.tabIndex === 0) ?? buttons[0];
    for (const one of buttons) one.tabIndex = one === chosen ? 0 : -1;
  };
  // Without a list of dependencies: any render may add or disable a button.
  useLayoutEffect(() => {
    const focused = list().find((one) => one === document.activeElement);
    const entry = list().filter((one) => one.tabIndex === 0);
    choose(focused ?? (entry.length === 1 ? entry[0] : list()[0]));
  });
  const move = (event: KeyboardEvent): void => {
    const buttons = list();
    const at = buttons.findIndex((one) => one === event.target);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (at === -1 || next === undefined) return;
    event.preventDefault();
    buttons.at(next % buttons.length)?.focus();
  };
  return (
    <span
      ref={root}
      role="toolbar"
      aria-label={label}
      className={className}
      onKeyDown={move}
      onFocus={({ target }) => choose(target)}
    >
      {children}
    </span>
  );
}
