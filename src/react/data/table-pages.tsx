/** Paging controls of a table. */
import type { ReactNode } from "react";
import { IconButton } from "../ui/button.tsx";
import { formatNumber } from "../ui/format.ts";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({
  en: {
    pages: (name: string) => `Pages of ${name}`,
    perPage: "Rows per page",
    all: "All rows",
    size: (count: string) => `${count} per page`,
    place: (page: string, pages: string) => `Page ${page} of ${pages}`,
    first: "First page",
    back: "Previous page",
    next: "Next page",
    last: "Last page",
  },
  zh: {
    pages: (name: string) => `${name}的分页`,
    perPage: "每页行数",
    all: "全部行",
    size: (count: string) => `每页 ${count} 行`,
    place: (page: string, pages: string) => `第 ${page} / ${pages} 页`,
    first: "第一页",
    back: "上一页",
    next: "下一页",
    last: "最后一页",
  },
});

export const SMALLEST_PAGE = 20;
const SIZES = [SMALLEST_PAGE, 100, Infinity];

export interface TablePagesProps {
  readonly name: string;
  readonly count: number;
  /** Infinity shows all rows on one page. */
  readonly pageSize: number;
  /** From 0. */
  readonly page: number;
  readonly onPage: (page: number) => void;
  readonly onPageSize: (size: number) => void;
}

export function TablePages({ name, count, pageSize, page, onPage, onPageSize }: TablePagesProps): ReactNode {
  const words = useWords(WORDS);
  const { language } = useUi();
  if (count <= SMALLEST_PAGE) return null;
  const pages = Math.max(1, Math.ceil(count / pageSize));
  const say = (value: number): string => formatNumber(value, language);
  return (
    <nav className="loom-data-pages" aria-label={words.pages(name)}>
      <select
        className="loom-data-select"
        aria-label={words.perPage}
        value={String(pageSize)}
        onChange={(event) => onPageSize(Number(event.target.value))}
      >
        {SIZES.map((size) => (
          <option key={size} value={String(size)}>
            {size === Infinity ? words.all : words.size(say(size))}
          </option>
        ))}
      </select>
      {pages === 1 ? null : (
        <>
          <IconButton icon="first" label={words.first} disabled={page === 0} onClick={() => onPage(0)} />
          <IconButton icon="back" label={words.back} disabled={page === 0} onClick={() => onPage(page - 1)} />
          <output>{words.place(say(page + 1), say(pages))}</output>
          <IconButton icon="open" label={words.next} disabled={page + 1 >= pages} onClick={() => onPage(page + 1)} />
          <IconButton icon="last" label={words.last} disabled={page + 1 >= pages} onClick={() => onPage(pages - 1)} />
        </>
      )}
    </nav>
  );
}
