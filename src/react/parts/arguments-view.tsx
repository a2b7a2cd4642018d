/**
 * The arguments of a tool call, one per line, while they stream and afterwards. Long values are truncated: the end is
 * shown while they grow, the beginning once they are complete.
 */
import { memo, type ReactNode, useState } from "react";
import type { ToolCall } from "../../client/index.ts";
import type { Json } from "../../protocol/index.ts";
import { formatNumber } from "../ui/format.ts";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { cutTail } from "./fold-text.ts";
import { isContainer } from "./json-entries.ts";
import { JsonView } from "./json-view.tsx";
import { LogBox, ShortText } from "./log-box.tsx";
import { revealHidden } from "./reveal-hidden.ts";
import { cutText } from "../../protocol/cut-text.ts";

const WORDS = defineWords({
  en: {
    arguments: "Arguments",
    none: "No arguments",
    invalid: "Invalid arguments (not a JSON object):",
    more: (count: string) => `Show ${count} more`,
  },
  zh: {
    arguments: "参数",
    none: "无参数",
    invalid: "参数无效（不是 JSON 对象）：",
    more: (count: string) => `再显示 ${count} 个`,
  },
});

const STEP = 20;
/** Characters shown of streaming arguments that cannot be parsed yet. */
const MAX_TAIL = 400;
const MAX_NAME = 80;

export type ArgumentsViewProps = Pick<ToolCall, "arguments" | "argumentsText" | "argumentsInvalid"> & {
  readonly isStreaming: boolean;
};

export const ArgumentsView = memo(function ArgumentsView(props: ArgumentsViewProps): ReactNode {
  const { arguments: given, argumentsText, argumentsInvalid, isStreaming } = props;
  const words = useWords(WORDS);
  const { language } = useUi();
  const [limit, setLimit] = useState(STEP);
  if (argumentsInvalid) {
    return (
      <div className="loom-arguments">
        <p className="loom-arguments-note">{words.invalid}</p>
        <LogBox
          text={argumentsText}
          label={words.arguments}
          end={isStreaming ? "last" : "first"}
          isLive={isStreaming}
        />
      </div>
    );
  }
  const names = Object.keys(given);
  if (names.length === 0) {
    return isStreaming ? (
      <code className="loom-arguments-tail">{cutTail(argumentsText, MAX_TAIL)}</code>
    ) : (
      <p className="loom-arguments-note">{words.none}</p>
    );
  }
  const newest = isStreaming ? names.at(-1) : undefined;
  const shown = names.slice(0, limit);
  // The argument being written is always visible.
  if (newest !== undefined && names.length > limit) shown[limit - 1] = newest;
  const left = names.length - limit;
  return (
    <div className="loom-arguments">
      <dl className="loom-arguments-list">
        {shown.map((name) => (
          <ArgumentEntry key={name} name={name} value={given[name] ?? null} isGrowing={name === newest} />
        ))}
      </dl>
      {left > 0 ? (
        <button type="button" className="loom-more" onClick={() => setLimit(limit + STEP)}>
          {words.more(formatNumber(left, language))}
        </button>
      ) : null}
    </div>
  );
});

interface ArgumentEntryProps {
  readonly name: string;
  readonly value: Json;
  readonly isGrowing: boolean;
}

const ArgumentEntry = memo(function ArgumentEntry({ name, value, isGrowing }: ArgumentEntryProps): ReactNode {
  return (
    <div className="loom-argument">
      <dt>{revealHidden(cutText(name, MAX_NAME))}</dt>
      <dd>
        {typeof value === "string" ? (
          <ShortText text={value} end={isGrowing ? "last" : "first"} isLive={isGrowing} isExact />
        ) : isContainer(value) ? (
          <JsonView value={value} label={name} openLevels={isGrowing ? 0 : 1} />
        ) : (
          <span className="loom-json-literal">{String(value)}</span>
        )}
      </dd>
    </div>
  );
});
