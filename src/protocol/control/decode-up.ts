/** Reads the control frames that go up: what a server needs. */
import { type ControlVocabulary, decodeControl, type DecodedControl, readControl } from "./decode-control.ts";
import { findUpFrameFault, findUpFrameForm, type UpFrame } from "./up.generated.ts";

/** What a user asks of a session; asking twice with one id is asking once. */
export type ControlCommand = Extract<UpFrame, { readonly type: "run" | "cancel" | "approve" | "todo" }>;

const UP: ControlVocabulary = { isKnown: (type) => findUpFrameForm(type) !== undefined, findFault: findUpFrameFault };

export function decodeUp(text: string): DecodedControl<UpFrame> {
  return decodeControl(text, UP);
}

/** The same for a value that was parsed before, or put together from an address. */
export function readUp(value: unknown): DecodedControl<UpFrame> {
  return readControl(value, UP);
}

export function isCommand(frame: UpFrame): frame is ControlCommand {
  return frame.type === "run" || frame.type === "cancel" || frame.type === "approve" || frame.type === "todo";
}
