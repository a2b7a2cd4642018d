/** Decodes control frames from the server, for clients. */
import { type ControlVocabulary, decodeControl, type DecodedControl } from "./decode-control.ts";
import { type DownFrame, findDownFrameFault, findDownFrameForm } from "./down.generated.ts";

const DOWN: ControlVocabulary = {
  isKnown: (type) => findDownFrameForm(type) !== undefined,
  findFault: findDownFrameFault,
};

/** Decodes a control frame from the server. */
export function decodeDown(text: string): DecodedControl<DownFrame> {
  return decodeControl(text, DOWN);
}
