// A page of another origin that shows a chat. The query has the props, and the style of the container.
import { type CSSProperties, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { LoomChat } from "loom-agent/react";

const query = new URLSearchParams(location.search);
const read = (name: string): string => query.get(name) ?? "";

async function fetchToken(): Promise<string> {
  return (await fetch("./token")).text();
}

const token = { none: undefined, fetched: fetchToken, wrong: "wrong" }[read("token")];
const parse = (text: string): CSSProperties => JSON.parse(text === "" ? "{}" : text) as CSSProperties;

createRoot(document.querySelector("#root") ?? document.body).render(
  <StrictMode>
    <div style={parse(read("outer"))}>
      <div id="container" style={parse(read("inner"))}>
        <LoomChat url={read("url")} session={read("session")} token={token} />
      </div>
    </div>
  </StrictMode>,
);
