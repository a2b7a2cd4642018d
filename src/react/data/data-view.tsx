/** Structured data of an answer: a table, a chart, an image, or something of the sender's own. */
import type { ReactNode } from "react";
import type { DataBlock } from "../../client/index.ts";

export interface DataViewProps {
  readonly block: DataBlock;
}

export function DataView({ block }: DataViewProps): ReactNode {
  return <pre>{JSON.stringify(block.data)}</pre>;
}
