/** Connects an `OpenaiConnection` to a WebSocket and to the server. */
import { randomUUID } from "node:crypto";
import { LoomError } from "../../protocol/index.ts";
import { enterGate, UploadSlot } from "../api/gates.ts";
import { describeOpenaiError } from "../api/openai-error.ts";
import { describeProblem } from "../api/refuse-request.ts";
import type { ServerCore } from "../api/server-core.ts";
import { API_FORMS, type DisconnectOptions, type OpenaiResponsesRequest } from "../api/shapes.generated.ts";
import type { Caller } from "../auth/authorize.ts";
import { checkJsonBody } from "../http/read-json-body.ts";
import { readQuery } from "../http/read-query.ts";
import type { StreamReader } from "../streams/stream-reader.ts";
import { describeClose } from "./describe-close.ts";
import { OpenaiConnection } from "./openai-connection.ts";
import type { OpenPeer } from "./peer.ts";

/** Starts the response of a message and opens its events, up to the last one. */
export type OpenResponse = (
  core: ServerCore,
  call: {
    readonly caller: Caller;
    readonly body: OpenaiResponsesRequest;
    readonly query: DisconnectOptions;
    readonly key: string;
    readonly signal: AbortSignal;
    readonly upload: UploadSlot;
  },
) => Promise<StreamReader | undefined>;

export function createOpenaiPeerOpener(openResponse: OpenResponse): OpenPeer {
  return (core, writer, caller) => {
    const { limits } = core;
    const { countRequest } = core.access;
    const connection = new OpenaiConnection({
      async open(message, signal) {
        if (core.closing.aborted) throw new LoomError("shutting_down", "The server is shutting down");
        await core.authorize({ caller, action: "runs.start" });
        const query = readQuery(API_FORMS.DisconnectOptions, caller.url.searchParams) as DisconnectOptions;
        const body = checkJsonBody(API_FORMS.OpenaiResponsesRequest, message) as unknown as OpenaiResponsesRequest;
        const upload = new UploadSlot(() => enterGate(core, "uploads", caller, signal));
        try {
          return await openResponse(core, { caller, body, query, key: randomUUID(), signal, upload });
        } finally {
          upload.release();
        }
      },
      describe(error) {
        const { problem } = describeProblem(core, error);
        return { status: problem.status, error: describeOpenaiError(problem) };
      },
      ...(countRequest === undefined ? {} : { countRequest: () => countRequest(caller) }),
      send: (text) => void writer.writeText(text),
      sendBytes: (messages) => void writer.write(messages),
      hasRoom: () => writer.hasRoom,
      whenRoom: (act) => writer.whenRoom(act),
      onClose: (why) => {
        const { code, reason } = describeClose(why);
        writer.close(code, reason);
      },
      maxMessageBytes: limits.maxBodyBytes,
      maxLanes: limits.maxSubscriptions,
    });
    return {
      receive: (text) => connection.receive(text),
      receiveBinary: () => connection.receiveBinary(),
      // Every event has a `sequence_number`, after which its response can be read over HTTP.
      closeSuffix: "",
      close: () => connection.close(),
    };
  };
}
