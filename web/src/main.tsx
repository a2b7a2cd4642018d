/** Entry point of the page. */
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { createPageController } from "./effects/create-page-controller.ts";
import { readRoute, readSharedRoute } from "./store/route.ts";

// Together with the first requests. `ConversationPane` reports a failure.
if ((readRoute(location.hash) ?? readSharedRoute(location.hash)) !== undefined)
  import("./shell/session-conversation.tsx").catch(() => undefined);

const root = document.querySelector("#root");
if (root !== null) createRoot(root).render(<App page={createPageController()} />);
