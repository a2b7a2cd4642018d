/**
 * Who speaks: a node run, or the run itself where frames name none. It remembers which of its parts are still open, so
 * that spans which run side by side do not cut each other's texts.
 */
import type { Speech } from "./speech.ts";
import type { ToolCell } from "./tool-cell.ts";

export class Speaker {
  /** Key of the node run it is. */
  readonly nodeKey: string | undefined;
  /** The parts that grow with its next piece. */
  text: Speech | undefined;
  thinking: Speech | undefined;
  /** The last train of reasoning, open or not. */
  reasoning: Speech | undefined;
  /** All its answers. */
  readonly texts: Speech[] = [];
  /** The call whose arguments came last. */
  call: ToolCell | undefined;
  /** The latest call by index. */
  calls: Map<number, ToolCell> | undefined;

  constructor(nodeKey: string | undefined) {
    this.nodeKey = nodeKey;
  }
}
