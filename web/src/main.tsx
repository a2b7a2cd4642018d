/** Where the page begins. */
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { createPage } from "./effects/create-page.ts";

const root = document.querySelector("#root");
if (root !== null) createRoot(root).render(<App page={createPage()} />);
