/** Decodes control frames from the client, for servers. */
import { type ControlVocabulary, decodeControl, type DecodedControl, readControl } from "./decode-control.ts";
import { findUpFrameFault, findUpFrameForm, type UpFrame } from "./up.generated.ts";

/** A command for a session. Commands are idempotent: sending one again with the same ID has no further effect. */
export type ControlCommand = Extract<UpFrame, { readonly type: "run" | "cancel" | "approve" | "todo" }>;

const UP: ControlVocabulary = { isKnown: (type) => findUpFrameForm(type) !== undefined, findFault: findUpFrameFault };

/** Decodes a control frame from the client. */
export function decodeUp(text: string): DecodedControl<UpFrame> {
  return decodeControl(text, UP);
}

/** Like `decodeUp`, for a value that is already parsed. */
export function readUp(value: unknown): DecodedControl<UpFrame> {
  return readControl(value, UP);
}

/** True for frames that are commands for a session. */
export function isCommand(frame: UpFrame): frame is ControlCommand {
  return frame.type === "run" || frame.type === "cancel" || frame.type === "approve" || frame.type === "todo";
}
