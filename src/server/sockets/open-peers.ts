/** Opens the connection of each protocol on a WebSocket, for the caller of its upgrade. */
import { randomUUID } from "node:crypto";
import { LoomError } from "../../protocol/index.ts";
import { enterGate, UploadSlot } from "../api/gates.ts";
import { describeOpenaiError } from "../api/adapt-error.ts";
import { describeProblem } from "../api/refuse-request.ts";
import type { ServerCore } from "../api/server-core.ts";
import { API_FORMS, type DisconnectOptions, type OpenaiResponsesRequest } from "../api/shapes.generated.ts";
import type { Caller } from "../auth/authorize.ts";
import { commandHostFor } from "../commands/command-host.ts";
import { checkJsonBody } from "../http/read-json-body.ts";
import { readQuery } from "../http/read-query.ts";
import type { StreamReader } from "../streams/stream-reader.ts";
import { ControlConnection } from "./control-connection.ts";
import { LumineConnection } from "./lumine-connection.ts";
import { readLumineStart } from "./lumine-start.ts";
import { OpenaiConnection } from "./openai-connection.ts";
import type { Peer, PeerAccess, PeerClient } from "./peer.ts";
import { describeClose, type SocketWriter } from "./socket-writer.ts";

export type OpenPeer = (core: ServerCore, writer: SocketWriter, caller: Caller) => Peer | Promise<Peer>;

export function openControlPeer(core: ServerCore, writer: SocketWriter, caller: Caller): Peer {
  const { limits, streams, meter } = core;
  return new ControlConnection({
    ...commandHostFor(core, caller),
    ...connect(core, writer, caller),
    streams,
    meter,
    maxSubscriptions: limits.maxSubscriptions,
    maxInboundLength: limits.maxInboundLength,
    heartbeatMs: limits.heartbeatMs,
  });
}

export async function openLuminePeer(core: ServerCore, writer: SocketWriter, caller: Caller): Promise<Peer> {
  const connection = new LumineConnection({
    ...connect(core, writer, caller),
    host: commandHostFor(core, caller),
    streams: core.streams,
    maxInboundLength: core.limits.maxInboundLength,
  });
  await connection.open(readLumineStart(caller.url.searchParams));
  return connection;
}

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
  return (core, writer, caller) =>
    new OpenaiConnection({
      ...connect(core, writer, caller),
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
      maxMessageBytes: core.limits.maxBodyBytes,
      maxLanes: core.limits.maxSubscriptions,
    });
}

function connect(core: ServerCore, writer: SocketWriter, caller: Caller): PeerClient & PeerAccess {
  const { access } = core;
  // The local user has no credential to count or to check.
  const isChecked = caller.principal.kind !== "local";
  return {
    send: (text) => void writer.writeText(text),
    sendBytes: (messages) => void writer.write(messages),
    hasRoom: () => writer.hasRoom,
    whenRoom: (act) => writer.whenRoom(act),
    onClose: (why) => writer.close(describeClose(why)),
    authorize: (action, session) => core.authorize({ caller, action, session }),
    countRequest: isChecked ? () => access.countRequest(caller) : undefined,
    watch: isChecked ? (session, onEnd) => access.watch(caller, session, onEnd) : undefined,
  };
}
