/**
 * Virtualized list of rows with equal height and one selection. It is one tab stop: arrow keys, Page Up, Page Down,
 * Home and End move the selection.
 */
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef } from "react";
import { useVirtualizer } from "../../../src/react/page-parts.ts";

export interface RowListProps {
  readonly label: string;
  readonly count: number;
  /** -1: none. */
  readonly selected: number;
  readonly onSelect: (index: number) => void;
  readonly renderRow: (index: number) => ReactNode;
  /** Changes when other rows are shown. The list then scrolls to the selected row. */
  readonly listKey?: string;
}

/** Same value as in inspector.css. */
const ROW_PX = 30;
const PAGE_ROWS = 12;

export function RowList({ label, count, selected, onSelect, renderRow, listKey }: RowListProps): ReactNode {
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
  });
  useEffect(() => {
    if (selected >= 0 && selected < count) virtualizer.scrollToIndex(selected, { align: "auto" });
    // Only when the selection changes: growing the list must not scroll it.
  }, [virtualizer, selected, listKey]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const target = findTarget(event.key, selected, count);
    if (target === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    onSelect(target);
  };
  const rows = virtualizer.getVirtualItems();
  const isShown = rows.some(({ index }) => index === selected);
  return (
    <div
      ref={scroller}
      className="page-inspector-rows"
      role="listbox"
      tabIndex={0}
      aria-label={label}
      aria-activedescendant={isShown ? `${id}-${selected}` : undefined}
      onKeyDown={onKeyDown}
    >
      <div className="page-inspector-rows-all" role="presentation" style={{ height: virtualizer.getTotalSize() }}>
        {rows.map(({ index, start }) => (
          <div
            key={index}
            id={`${id}-${index}`}
            className="page-inspector-row"
            role="option"
            aria-selected={index === selected}
            aria-posinset={index + 1}
            aria-setsize={count}
            style={{ transform: `translateY(${start}px)` }}
            onClick={() => onSelect(index)}
          >
            {renderRow(index)}
          </div>
        ))}
      </div>
    </div>
  );
}

function findTarget(key: string, selected: number, count: number): number | undefined {
  if (count === 0) return undefined;
  const clamp = (index: number): number => Math.max(0, Math.min(index, count - 1));
  switch (key) {
    case "ArrowDown":
      return clamp(selected + 1);
    case "ArrowUp":
      return clamp(selected < 0 ? 0 : selected - 1);
    case "PageDown":
      return clamp(selected + PAGE_ROWS);
    case "PageUp":
      return clamp(selected - PAGE_ROWS);
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return undefined;
  }
}
