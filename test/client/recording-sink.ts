/** A sink that records everything it receives. */
import type { FrameSink } from "../../src/client/transport.ts";

export class RecordingSink implements FrameSink {
  readonly frames: [text: string, cursor: string | undefined][] = [];
  readonly faults: string[] = [];
  readonly begun: string[] = [];
  signs = 0;
  /** Called with each frame after it was recorded. */
  onFrame: ((text: string) => void) | undefined;

  get texts(): string[] {
    return this.frames.map(([text]) => text);
  }

  frame(text: string, cursor: string | undefined): void {
    this.frames.push([text, cursor]);
    this.onFrame?.(text);
  }

  alive(): void {
    this.signs++;
  }

  begin(cursor: string): void {
    this.begun.push(cursor);
  }

  fault(reason: string, detail: string): void {
    this.faults.push(`${reason}: ${detail}`);
  }
}
