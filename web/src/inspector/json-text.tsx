/** Formatted and highlighted JSON. Long texts are cut. */
import { memo, type ReactNode, useMemo } from "react";
import { formatNumber, useUi, useWords } from "../../../src/react/page-parts.ts";
import { INSPECTOR_WORDS } from "./inspector-words.ts";

export interface JsonTextProps {
  readonly text: string;
  readonly label: string;
}

export const JsonText = memo(function JsonText({ text, label }: JsonTextProps): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  const { language } = useUi();
  const { tokens, hidden } = useMemo(() => readJsonTokens(layOutJson(text)), [text]);
  return (
    <>
      <pre className="page-inspector-json" tabIndex={0} role="region" aria-label={label}>
        {tokens.map((token, i) =>
          token.kind === "plain" ? (
            token.text
          ) : (
            <span key={i} className={`page-inspector-json-${token.kind}`}>
              {token.text}
            </span>
          ),
        )}
      </pre>
      {hidden > 0 ? <p className="page-inspector-note">{words.cut(formatNumber(hidden, language))}</p> : null}
    </>
  );
});

type JsonTokenKind = "key" | "string" | "number" | "word" | "plain";

interface JsonToken {
  readonly kind: JsonTokenKind;
  readonly text: string;
}

/** Browsers lay out every character, visible or not. */
const MAX_SHOWN = 100_000;

interface ShownJson {
  readonly tokens: readonly JsonToken[];
  /** Number of characters that are not shown. */
  readonly hidden: number;
}

/** Returns indented JSON, or the text itself if it is not JSON. */
export function layOutJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)/g;

/** Splits the text into tokens. Joined, they are the first `limit` characters. */
export function readJsonTokens(text: string, limit: number = MAX_SHOWN): ShownJson {
  const shown = text.slice(0, limit);
  const tokens: JsonToken[] = [];
  let at = 0;
  const put = (kind: JsonTokenKind, part: string): void => {
    if (part !== "") tokens.push({ kind, text: part });
    at += part.length;
  };
  for (const { index, 0: whole, 1: quoted, 2: colon, 3: number } of shown.matchAll(TOKEN)) {
    put("plain", shown.slice(at, index));
    if (quoted === undefined) put(number === undefined ? "word" : "number", whole);
    else {
      put(colon === undefined ? "string" : "key", quoted);
      put("plain", colon ?? "");
    }
  }
  put("plain", shown.slice(at));
  return { tokens, hidden: text.length - shown.length };
}
