// Code with line numbers, instead of the default rendering. Used once a code block is complete.
import type { ReactNode } from "react";
import type { CodeProps } from "loom-agent/react";

export function NumberedCode({ code }: CodeProps): ReactNode {
  return code.split("\n").map((line, index) => `${String(index + 1).padStart(3)}  ${line}\n`);
}
