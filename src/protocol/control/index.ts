/** The control protocol of `WS /v1/ws`: its frames, encoding and decoding. Runs in browsers. */
export {
  CONTROL_VERSION,
  type ControlCommand,
  decodeDown,
  decodeUp,
  encodeControl,
  type InvalidControl,
  isCommand,
  readUp,
} from "./control-codec.ts";
export type { AckControl, DownFrame, FramesControl, RefusalControl } from "./down.generated.ts";
export { DOWN_FRAMES, UP_FRAMES } from "./frames.ts";
export type { PingControl, SubscribeControl, UnsubscribeControl, UpFrame } from "./up.generated.ts";
