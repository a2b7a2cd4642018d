/**
 * The frames of each dialect as types. They are derived from the declarations of the events and frames, so that a wrong
 * type or payload does not compile.
 */
import type { Envelope, LoomEventMap } from "../protocol/events.generated.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { AgUiFrame } from "./ag-ui/frames.generated.ts";
import type { AiSdkFrame } from "./ai-sdk/frames.generated.ts";
import type { EngineFrame } from "./engine/frames.generated.ts";
import type { LegacyEngineFrame } from "./engine/legacy.ts";
import type { LumineFrame } from "./lumine/frames.generated.ts";
import type { OpenaiChatFrame } from "./openai-chat/frames.generated.ts";
import type { OpenaiResponsesFrame } from "./openai-responses/frames.generated.ts";
import type { StreamEventFrame } from "./stream-event/frames.generated.ts";

/** On the wire, the `node_id` of `got_expand` is its own field; that of the envelope is `span_node_id`. */
type GotExpandEnvelope = Omit<Envelope, "node_id"> & { readonly span_node_id?: string };

type LoomFrameMap = {
  readonly [T in keyof LoomEventMap]: T extends "reply"
    ? Envelope & Omit<LoomEventMap[T], "type"> & { readonly type?: never }
    : T extends "got_expand"
      ? GotExpandEnvelope & LoomEventMap[T]
      : Envelope & LoomEventMap[T];
};

/** A frame of the dialect `loom` (001), distinguished by `type`; the reply has none. */
export type LoomFrame = LoomFrameMap[keyof LoomFrameMap];

/** The frames of each dialect. `engine` includes the legacy types of 003 §6. */
export interface DialectFrames {
  readonly loom: LoomFrame;
  readonly export: JsonObject;
  readonly "stream-event": StreamEventFrame;
  readonly engine: EngineFrame | LegacyEngineFrame;
  readonly lumine: LumineFrame;
  readonly "ai-sdk": AiSdkFrame;
  readonly "ag-ui": AgUiFrame;
  readonly "openai-responses": OpenaiResponsesFrame;
  readonly "openai-chat": OpenaiChatFrame;
}
