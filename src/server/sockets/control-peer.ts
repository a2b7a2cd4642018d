/** Connects a `ControlConnection` to a WebSocket and to the server. */
import { commandHostFor } from "../commands/command-host.ts";
import type { Caller } from "../auth/authorize.ts";
import type { ServerCore } from "../api/server-core.ts";
import { ControlConnection } from "./control-connection.ts";
import type { Peer } from "./peer.ts";
import type { SocketWriter } from "./socket-writer.ts";
import { describeClose } from "./describe-close.ts";

export function openControlPeer(core: ServerCore, writer: SocketWriter, caller: Caller): Peer {
  const { limits, streams, meter, access } = core;
  const { countRequest } = access;
  const connection = new ControlConnection({
    ...commandHostFor(core, caller),
    streams,
    meter,
    send: (text) => void writer.writeText(text),
    sendBytes: (messages) => void writer.write(messages),
    hasRoom: () => writer.hasRoom,
    ready: () => new Promise((resolve) => writer.whenRoom(resolve)),
    authorize: (action, session) => core.authorize({ caller, action, session }),
    // The local user has no credential to count or to check.
    ...(caller.principal.kind === "local"
      ? {}
      : {
          ...(countRequest === undefined ? {} : { countRequest: () => countRequest(caller) }),
          watch: (session, onEnd) => access.watch(caller, session, onEnd),
        }),
    onClose: (why) => {
      const { code, reason } = describeClose(why);
      writer.close(code, reason);
    },
    maxSubscriptions: limits.maxSubscriptions,
    maxInboundLength: limits.maxInboundLength,
    heartbeatMs: limits.heartbeatMs,
  });
  return {
    receive: (text) => connection.receive(text),
    receiveBinary: () => connection.receiveBinary(),
    // Each `frames` message already has a cursor.
    closeSuffix: "",
    close: () => connection.close(),
  };
}
