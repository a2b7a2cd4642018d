/** A JSON value as a collapsible tree. Collapsed entries are not rendered, and expanded ones load in batches. */
import { memo, type ReactNode, useState } from "react";
import type { Json } from "../../protocol/index.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { formatNumber } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { gistValue, isContainer, readEntry, listNames, type JsonContainer } from "./json-entries.ts";
import { ShortText } from "./log-box.tsx";
import { revealHidden } from "./reveal-hidden.ts";
import { shorten } from "../../protocol/cut-text.ts";

const WORDS = defineWords({
  en: {
    copy: "Copy as JSON",
    more: (count: string, left: string) => `Show ${count} more (${left} left)`,
    entries: (count: string) => (count === "1" ? "1 field" : `${count} fields`),
    items: (count: string) => (count === "1" ? "1 item" : `${count} items`),
  },
  zh: {
    copy: "复制为 JSON",
    more: (count: string, left: string) => `再显示 ${count} 项（剩余 ${left} 项）`,
    entries: (count: string) => `${count} 个字段`,
    items: (count: string) => `${count} 项`,
  },
});

const STEP = 50;

export interface JsonViewProps {
  readonly value: Json;
  /** Accessible name. */
  readonly label: string;
  /** Levels expanded initially. Default: 1. */
  readonly openLevels?: number;
}

/** Shows a JSON value as a collapsible tree with a copy button. */
export const JsonView = memo(function JsonView({ value, label, openLevels = 1 }: JsonViewProps): ReactNode {
  const words = useWords(WORDS);
  return (
    <div className="loom-json">
      <div className="loom-json-scroller" tabIndex={0} role="group" aria-label={label}>
        {isContainer(value) ? (
          <JsonBranch name={undefined} value={value} openLevels={openLevels} />
        ) : (
          <JsonLeaf value={value} />
        )}
      </div>
      <span className="loom-json-tools">
        <CopyButton getText={() => JSON.stringify(value, undefined, 2)} label={words.copy} />
      </span>
    </div>
  );
});

interface JsonBranchProps {
  readonly name: string | undefined;
  readonly value: JsonContainer;
  readonly openLevels: number;
}

const JsonBranch = memo(function JsonBranch({ name, value, openLevels }: JsonBranchProps): ReactNode {
  const words = useWords(WORDS);
  const { language } = useUi();
  const [isOpen, setOpen] = useState(openLevels > 0);
  const names = listNames(value);
  const count = formatNumber(names.length, language);
  return (
    <div className="loom-json-branch">
      <button type="button" className="loom-json-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={isOpen ? "down" : "open"} />
        {name === undefined ? null : <span className="loom-json-name">{showName(name)}</span>}
        <span className="loom-json-count">{Array.isArray(value) ? words.items(count) : words.entries(count)}</span>
        {isOpen ? null : <span className="loom-json-gist">{gistValue(value)}</span>}
      </button>
      {isOpen ? <JsonEntries value={value} names={names} openLevels={openLevels - 1} /> : null}
    </div>
  );
});

interface JsonEntriesProps {
  readonly value: JsonContainer;
  readonly names: readonly string[];
  readonly openLevels: number;
}

function JsonEntries({ value, names, openLevels }: JsonEntriesProps): ReactNode {
  const words = useWords(WORDS);
  const { language } = useUi();
  const [limit, setLimit] = useState(STEP);
  const left = names.length - limit;
  return (
    <ul className="loom-json-entries">
      {names.slice(0, limit).map((name) => {
        const entry = readEntry(value, name);
        return (
          <li key={name}>
            {isContainer(entry) ? (
              <JsonBranch name={name} value={entry} openLevels={openLevels} />
            ) : (
              <>
                <span className="loom-json-name">{showName(name)}</span> <JsonLeaf value={entry} />
              </>
            )}
          </li>
        );
      })}
      {left > 0 ? (
        <li>
          <button type="button" className="loom-more" onClick={() => setLimit(limit + STEP)}>
            {words.more(formatNumber(Math.min(STEP, left), language), formatNumber(left, language))}
          </button>
        </li>
      ) : null}
    </ul>
  );
}

const MAX_NAME = 200;

function showName(name: string): string {
  return revealHidden(shorten(name, MAX_NAME));
}

function JsonLeaf({ value }: { readonly value: string | number | boolean | null }): ReactNode {
  if (typeof value === "string") {
    return (
      <span className="loom-json-text">
        “<ShortText text={value} isExact />”
      </span>
    );
  }
  return <span className="loom-json-literal">{String(value)}</span>;
}
