/** Encodes the stream events of 002 as JSON; `project.ts` creates them. */
import { type Encoder, type EncoderOptions, NO_FRAMES } from "../dialect.ts";
import { createStreamEventProjection } from "./project.ts";

export function createStreamEventEncoder(_options: EncoderOptions = {}, saved?: unknown): Encoder {
  const projection = createStreamEventProjection({}, saved);
  return {
    save: () => projection.save(),
    get dropped() {
      return projection.dropped;
    },
    encode(record) {
      const frames = projection.project(record);
      const [first] = frames;
      if (first === undefined) return NO_FRAMES;
      return frames.length === 1 ? [JSON.stringify(first)] : frames.map((frame) => JSON.stringify(frame));
    },
  };
}
