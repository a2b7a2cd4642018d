/** Reads the control frames that come down: what a client needs. */
import { type ControlVocabulary, decodeControl, type DecodedControl } from "./decode-control.ts";
import { type DownFrame, findDownFrameFault, findDownFrameForm } from "./down.generated.ts";

const DOWN: ControlVocabulary = {
  isKnown: (type) => findDownFrameForm(type) !== undefined,
  findFault: findDownFrameFault,
};

export function decodeDown(text: string): DecodedControl<DownFrame> {
  return decodeControl(text, DOWN);
}
