/** Tells the other tabs of this browser that sessions have changed. Other devices find out when they are used. */
const CHANNEL = "loom.sessions";

/** Returns a function that notifies the other tabs. `onChange` is called when another tab did. */
export function connectTabs(onChange: () => void): () => void {
  // Some browsers refuse a channel, for example in a sandboxed frame.
  try {
    const channel = new BroadcastChannel(CHANNEL);
    channel.addEventListener("message", onChange);
    return () => channel.postMessage("changed");
  } catch {
    return () => undefined;
  }
}
