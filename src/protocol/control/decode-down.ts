/** Reads the control frames that come down: what a client needs. */
import { type ControlVocabulary, decodeControl, type DecodedControl } from "./decode-control.ts";
import { type DownFrame, findDownFrameFault } from "./down.generated.ts";

const TYPES: { readonly [T in DownFrame["type"]]: true } = {
  hello: true,
  subscribed: true,
  frames: true,
  end: true,
  ack: true,
  refusal: true,
  heartbeat: true,
  pong: true,
};

const DOWN: ControlVocabulary = { isKnown: (type) => Object.hasOwn(TYPES, type), findFault: findDownFrameFault };

export function decodeDown(text: string): DecodedControl<DownFrame> {
  return decodeControl(text, DOWN);
}
