/** Formatted and highlighted JSON. Long texts are cut. */
import { memo, type ReactNode, useMemo } from "react";
import { formatNumber, useUi, useWords } from "../../../src/react/page-parts.ts";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import { layOutJson, readJsonTokens } from "./json-tokens.ts";

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
