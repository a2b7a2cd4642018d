/** Connects a `LumineConnection` to a WebSocket and to the server. */
import { commandHostFor } from "../commands/command-host.ts";
import type { Caller } from "../auth/authorize.ts";
import type { ServerCore } from "../api/server-core.ts";
import type { Peer } from "./peer.ts";
import { describeClose, formatCloseSuffix } from "./describe-close.ts";
import { LumineConnection } from "./lumine-connection.ts";
import { readLumineStart } from "./lumine-start.ts";
import type { SocketWriter } from "./socket-writer.ts";

export async function openLuminePeer(core: ServerCore, writer: SocketWriter, caller: Caller): Promise<Peer> {
  const { access } = core;
  const { countRequest } = access;
  const connection = new LumineConnection({
    host: commandHostFor(core, caller),
    streams: core.streams,
    authorize: (action, session) => core.authorize({ caller, action, session }),
    // The local user has no credential to count or to check.
    ...(caller.principal.kind === "local"
      ? {}
      : {
          ...(countRequest === undefined ? {} : { countRequest: () => countRequest(caller) }),
          watch: (session, onEnd) => access.watch(caller, session, onEnd),
        }),
    send: (text) => void writer.writeText(text),
    sendBytes: (messages) => void writer.write(messages),
    hasRoom: () => writer.hasRoom,
    whenRoom: (act) => writer.whenRoom(act),
    onClose: (why) => {
      const { code, reason } = describeClose(why);
      writer.close(code, reason);
    },
    maxInboundLength: core.limits.maxInboundLength,
  });
  await connection.open(readLumineStart(caller.url.searchParams));
  return {
    receive: (text) => connection.receive(text),
    receiveBinary: () => connection.receiveBinary(),
    get closeSuffix() {
      return formatCloseSuffix(connection.cursor);
    },
    close: () => connection.close(),
  };
}
