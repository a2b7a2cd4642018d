/**
 * The author of message parts: a node run, or the run itself. It tracks its open parts, so that overlapping node runs
 * do not interrupt each other's texts.
 */
import type { PartCell } from "./part-cell.ts";
import type { TextCell } from "./text-cell.ts";
import type { ToolCell } from "./tool-cell.ts";

export class PartAuthor {
  /** Key of the node run; undefined for the run itself. */
  readonly nodeKey: string | undefined;
  /** The open answer text. */
  text: TextCell | undefined;
  /** The open thinking text. */
  thinking: TextCell | undefined;
  /** The latest reasoning, open or complete. */
  reasoning: TextCell | undefined;
  /** Texts, thinking and tool calls of this author. */
  readonly cells: PartCell[] = [];
  /** The call whose arguments were streamed last. */
  call: ToolCell | undefined;
  /** The latest call by index. */
  calls: Map<number, ToolCell> | undefined;

  constructor(nodeKey: string | undefined) {
    this.nodeKey = nodeKey;
  }
}
