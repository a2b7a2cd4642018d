/** Entry point of the page. */
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { createPageController } from "./effects/create-page-controller.ts";

const root = document.querySelector("#root");
if (root !== null) createRoot(root).render(<App page={createPageController()} />);
