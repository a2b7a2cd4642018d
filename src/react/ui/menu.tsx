/**
 * Button with a popover menu. The browser closes it on Escape or an outside click; arrow keys move through the items.
 */
import { type KeyboardEvent, type ReactNode, type ToggleEvent, useEffect, useId, useRef, useState } from "react";
import { Icon, type IconName } from "./icon.tsx";

/** An entry of a menu: an action, or an option to choose. */
export interface MenuItem {
  readonly key: string;
  readonly label: string;
  readonly description?: string | undefined;
  readonly icon?: IconName;
  /** Whether this option is selected; undefined for actions. */
  readonly isChosen?: boolean;
  readonly isDanger?: boolean;
  onSelect(): void;
}

export interface MenuProps {
  /** Accessible name of the button. */
  readonly label: string;
  readonly items: readonly MenuItem[];
  /** Content of the button. */
  readonly children: ReactNode;
  /** Shown below the items. */
  readonly note?: ReactNode;
  readonly className?: string;
  /** Preferred side. */
  readonly side?: "above" | "below";
}

const EDGE_PX = 8;

/** Shows a button that opens a menu beside it. */
export function Menu({ label, items, children, note, className = "", side = "below" }: MenuProps): ReactNode {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);

  const onToggle = (event: ToggleEvent<HTMLDivElement>): void => {
    const menu = event.currentTarget;
    if (event.newState !== "open" || button.current === null) {
      delete menu.dataset["placed"];
      setOpen(false);
      return;
    }
    place(menu, button.current.getBoundingClientRect(), side);
    menu.dataset["placed"] = "";
    const items = menu.querySelectorAll<HTMLElement>("[role^=menuitem]");
    (menu.querySelector<HTMLElement>("[aria-checked=true]") ?? items[0])?.focus();
  };
  // The button has moved.
  useEffect(() => {
    if (!isOpen) return undefined;
    const hide = (): void => list.current?.hidePopover();
    addEventListener("resize", hide);
    return () => removeEventListener("resize", hide);
  }, [isOpen]);

  const move = (event: KeyboardEvent): void => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === "Tab") list.current?.hidePopover();
    // Escape must only close the menu.
    if (event.key === "Escape") event.stopPropagation();
    if (next === undefined) return;
    event.preventDefault();
    all.at(next % all.length)?.focus();
  };
  const close = (): void => {
    list.current?.hidePopover();
    button.current?.focus();
  };

  return (
    <>
      <button
        ref={button}
        type="button"
        className={`loom-menu-button ${className}`}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-label={label}
        title={label}
        popoverTarget={id}
      >
        {children}
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        className="loom-menu"
        onKeyDown={move}
        onBeforeToggle={({ newState }) => {
          // Items stay until the menu is closed, because the browser restores focus from one of them.
          if (newState === "open") setOpen(true);
        }}
        onToggle={onToggle}
      >
        {isOpen ? (
          <div role="menu" aria-label={label}>
            {items.map((item) => (
              <MenuEntry key={item.key} item={item} onClose={close} />
            ))}
          </div>
        ) : null}
        {isOpen && note !== undefined ? <div className="loom-menu-note">{note}</div> : null}
      </div>
    </>
  );
}

function MenuEntry({ item, onClose }: { readonly item: MenuItem; readonly onClose: () => void }): ReactNode {
  const { label, description, icon, isChosen, isDanger = false } = item;
  return (
    <button
      type="button"
      role={isChosen === undefined ? "menuitem" : "menuitemradio"}
      aria-checked={isChosen}
      tabIndex={-1}
      className={`loom-menu-item${isDanger ? " loom-menu-danger" : ""}`}
      onClick={() => {
        onClose();
        item.onSelect();
      }}
    >
      {isChosen === undefined ? null : (
        <span className="loom-menu-mark">{isChosen ? <Icon name="check" /> : null}</span>
      )}
      {icon === undefined ? null : <Icon name={icon} />}
      <span className="loom-menu-text">
        <span>{label}</span>
        {description === undefined ? null : <span className="loom-menu-description">{description}</span>}
      </span>
    </button>
  );
}

/** Positions the menu beside its button, inside the window. */
function place(menu: HTMLElement, at: DOMRect, side: "above" | "below"): void {
  const { offsetWidth: width, offsetHeight: height } = menu;
  const above = at.top - height - EDGE_PX / 2;
  const below = at.bottom + EDGE_PX / 2;
  const fitsBelow = below + height + EDGE_PX <= innerHeight;
  const top = side === "above" ? (above >= EDGE_PX ? above : below) : fitsBelow ? below : above;
  menu.style.top = `${Math.max(EDGE_PX, Math.min(top, innerHeight - height - EDGE_PX))}px`;
  menu.style.left = `${Math.max(EDGE_PX, Math.min(at.left, innerWidth - width - EDGE_PX))}px`;
}
