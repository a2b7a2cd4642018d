/** The control protocol of `WS /v1/ws`: its frames, encoding and decoding. Runs in browsers. */
export { CONTROL_VERSION, type InvalidControl } from "./decode-control.ts";
export { decodeDown } from "./decode-down.ts";
export { type ControlCommand, decodeUp, isCommand, readUp } from "./decode-up.ts";
export type { AckControl, DownFrame, FramesControl, RefusalControl } from "./down.generated.ts";
export { encodeControl } from "./encode-control.ts";
export { DOWN_FRAMES, UP_FRAMES } from "./frames.ts";
export type { PingControl, SubscribeControl, UnsubscribeControl, UpFrame } from "./up.generated.ts";
