/** Code as elements in the classes `loom-hl-…`, whose colours are the package's. Heavy: only ever loaded when needed. */
import { type ReactNode, useMemo } from "react";
import { common, createLowlight } from "lowlight";

const lowlight = createLowlight(common);

export interface ColouredCodeProps {
  readonly code: string;
  readonly language: string;
}

export function ColouredCode({ code, language }: ColouredCodeProps): ReactNode {
  return useMemo(() => colourCode(code, language), [code, language]);
}

/** A language it does not know gives the code alone. */
export function colourCode(code: string, language: string): ReactNode {
  const name = language.toLowerCase();
  if (!lowlight.registered(name)) return code;
  try {
    return lowlight.highlight(name, code, { prefix: "loom-hl-" }).children.map(buildNode);
  } catch {
    // What stumbles over some code must not be taken for what could not be loaded.
    return code;
  }
}

type Node = ReturnType<typeof lowlight.highlight>["children"][number];

function buildNode(node: Node, key: number): ReactNode {
  if (node.type === "text") return node.value;
  if (node.type !== "element") return null;
  const names = node.properties["className"];
  const classes = Array.isArray(names) ? names.filter((name) => name.startsWith("loom-hl-")) : [];
  return (
    <span key={key} className={classes.join(" ")}>
      {node.children.map((child, index) => buildNode(child as Node, index))}
    </span>
  );
}
