/** Syntax highlighting with the classes `loom-hl-…`. Loaded on demand because of its size. */
import { type ReactNode, useMemo } from "react";
import { common, createLowlight } from "lowlight";

const lowlight = createLowlight(common);

export interface HighlightedCodeProps {
  readonly code: string;
  readonly language: string;
}

export function HighlightedCode({ code, language }: HighlightedCodeProps): ReactNode {
  return useMemo(() => highlightCode(code, language), [code, language]);
}

/** Returns the plain code if the language is unknown. */
export function highlightCode(code: string, language: string): ReactNode {
  const name = language.toLowerCase();
  if (!lowlight.registered(name)) return code;
  try {
    return lowlight.highlight(name, code, { prefix: "loom-hl-" }).children.map(buildNode);
  } catch {
    // An exception here would be reported as a loading failure.
    return code;
  }
}

type HighlightNode = ReturnType<typeof lowlight.highlight>["children"][number];

function buildNode(node: HighlightNode, key: number): ReactNode {
  if (node.type === "text") return node.value;
  if (node.type !== "element") return null;
  const names = node.properties["className"];
  const classes = Array.isArray(names) ? names.filter((name) => name.startsWith("loom-hl-")) : [];
  return (
    <span key={key} className={classes.join(" ")}>
      {node.children.map((child, index) => buildNode(child as HighlightNode, index))}
    </span>
  );
}
