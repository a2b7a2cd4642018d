/**
 * The page at `/`: a plain chat in one document, which loads nothing from elsewhere and runs no script but its own. It
 * speaks 003 with the server and knows nothing else of it but how to stop a run and to answer for a tool.
 */
import { createHash } from "node:crypto";
import { PAGE_SCRIPT } from "./page-script.ts";
import { PAGE_STYLE } from "./page-style.ts";

export interface StartPageOptions {
  /** The model that answers, to be named. */
  readonly model?: string;
}

type Language = "en" | "zh";

/** Answers with the page, in the language the browser asks for. */
export function createStartPage({ model = "" }: StartPageOptions = {}): (request: Request) => Response {
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(PAGE_SCRIPT)}'`,
    `style-src '${hashOf(PAGE_STYLE)}'`,
    "connect-src 'self'",
    // Those of agents; what lies elsewhere comes through this server.
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy,
    "cache-control": "no-cache",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    vary: "accept-language",
  };
  const pages = { en: writePage("en", model), zh: writePage("zh", model) };
  return (request) => new Response(pages[chooseLanguage(request.headers.get("accept-language"))], { headers });
}

/** The first of the two that is named with the highest weight; English when neither is. */
export function chooseLanguage(accepted: string | null): Language {
  let chosen: Language = "en";
  let highest = 0;
  for (const part of (accepted ?? "").slice(0, 500).split(",")) {
    const [tag = "", ...parameters] = part.split(";").map((piece) => piece.trim().toLowerCase());
    const weight = Number(parameters.find((one) => one.startsWith("q="))?.slice(2) ?? 1);
    const language = /^(?<name>en|zh)\b/.exec(tag)?.groups?.["name"] as Language | undefined;
    if (language === undefined || !(weight > highest)) continue;
    highest = weight;
    chosen = language;
  }
  return chosen;
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** Words are put in by the script, which changes them with the language. */
function writePage(language: Language, model: string): string {
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Loom</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<header>
<h1>Loom</h1>
<p id="about" data-model="${escapeHtml(model)}"></p>
<button id="fresh" type="button"></button>
<button id="language" type="button"></button>
</header>
<main>
<div id="talk" role="log" aria-live="polite" aria-relevant="additions"></div>
<p id="status" role="status"></p>
</main>
<form id="form">
<label id="agent-label" for="agent"></label>
<select id="agent"></select>
<label id="text-label" for="text"></label>
<textarea id="text" rows="2" required></textarea>
<button id="send" type="submit"></button>
<button id="stop" type="button" hidden></button>
</form>
<footer>
<p id="hint"></p>
<pre id="curl" tabindex="0"></pre>
<noscript>This page needs JavaScript. 此页面需要 JavaScript。</noscript>
</footer>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`;
}
