/** The whole page. */
import { type ReactNode, useMemo } from "react";
import { connect, createLoomReceiver, createWebSocketTransport } from "loom-agent/client";
import { Conversation, UiProvider } from "loom-agent/react";

export function App(): ReactNode {
  const receiver = useMemo(() => {
    const made = createLoomReceiver();
    const url = new URL("./v1/ws", location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    connect(made, { transport: createWebSocketTransport({ url: url.href }), session: "demo" });
    return made;
  }, []);
  return (
    <UiProvider language="en">
      <Conversation receiver={receiver} sessionId="demo" />
    </UiProvider>
  );
}
