/** 004 on a WebSocket: what `LumineConnection` knows of neither, the socket and the server around it. */
import { commandsFor } from "../commands/commands-for.ts";
import type { Caller } from "../guard/authorize.ts";
import type { ServerCore } from "../server-core.ts";
import type { Peer } from "./create-sockets.ts";
import { describeClose, describePlace } from "./describe-close.ts";
import { LumineConnection } from "./lumine-connection.ts";
import { readLuminePlace } from "./lumine-place.ts";
import type { SocketWriter } from "./socket-writer.ts";

export async function openLuminePeer(core: ServerCore, writer: SocketWriter, caller: Caller): Promise<Peer> {
  const { access } = core;
  const connection = new LumineConnection({
    host: commandsFor(core, caller),
    streams: core.streams,
    authorize: (action, session) => core.authorize({ caller, action, session }),
    countRequest: () => access.countRequest(caller),
    ...(access.isOpen ? {} : { watch: (session, onEnd) => access.watch(caller, session, onEnd) }),
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
  await connection.open(readLuminePlace(caller.url.searchParams));
  return {
    receive: (text) => connection.receive(text),
    receiveBinary: () => connection.receiveBinary(),
    get place() {
      return describePlace(connection.cursor);
    },
    close: () => connection.close(),
  };
}
