/** Tab list with arrow-key navigation. */
import { type KeyboardEvent, type ReactNode, useId } from "react";

export interface TabsProps<N extends string> {
  readonly label: string;
  readonly tabs: readonly { readonly name: N; readonly title: string }[];
  readonly shown: N;
  readonly onShow: (name: N) => void;
  readonly children: ReactNode;
}

export function Tabs<N extends string>({ label, tabs, shown, onShow, children }: TabsProps<N>): ReactNode {
  const id = useId();
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = tabs.findIndex(({ name }) => name === shown);
    const target = event.key === "Home" ? 0 : event.key === "End" ? tabs.length - 1 : at + (step ?? 0);
    const next = tabs[(target + tabs.length) % tabs.length];
    if (next === undefined || next.name === shown) return;
    event.preventDefault();
    onShow(next.name);
    document.getElementById(`${id}-${next.name}`)?.focus();
  };
  return (
    <>
      <div className="page-inspector-tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map(({ name, title }) => (
          <button
            key={name}
            id={`${id}-${name}`}
            type="button"
            role="tab"
            className="page-inspector-tab"
            aria-selected={name === shown}
            aria-controls={name === shown ? `${id}-panel` : undefined}
            tabIndex={name === shown ? 0 : -1}
            onClick={() => onShow(name)}
          >
            {title}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} className="page-inspector-tab-panel" role="tabpanel" aria-labelledby={`${id}-${shown}`}>
        {children}
      </div>
    </>
  );
}
