/** Exports a conversation in one of the offered forms. */
import type { SessionView } from "loom-agent/client";
import { downloadFile } from "../inspector/download-frames.ts";
import { describeConversation, type ExportForm, type ExportOptions } from "./describe-conversation.ts";
import { renderConversation, writeHtml } from "./render-conversation.tsx";
import { writeMarkdown } from "./write-markdown.ts";

export async function exportConversation(form: ExportForm, view: SessionView, options: ExportOptions): Promise<void> {
  const conversation = describeConversation(view, options);
  switch (form) {
    case "markdown":
      save(writeMarkdown(conversation, options.language), "text/markdown", `${conversation.title}.md`);
      return;
    case "html":
      save(writeHtml(conversation, options.language), "text/html", `${conversation.title}.html`);
      return;
    case "copy":
      await navigator.clipboard.writeText(writeMarkdown(conversation, options.language));
      return;
    case "print": {
      const target = document.createElement("div");
      target.className = "page-print";
      const remove = renderConversation(conversation, options.language, target);
      document.body.append(target);
      document.documentElement.dataset["print"] = "conversation";
      print();
      delete document.documentElement.dataset["print"];
      remove();
      target.remove();
    }
  }
}

/** Characters that file systems reject become hyphens. */
function save(text: string, type: string, name: string): void {
  const clean = name.replaceAll(/[\p{Cc}<>:"/\\|?*]+/gu, "-").replace(/^[.\s-]+/u, "");
  downloadFile(new Blob([text], { type: `${type};charset=utf-8` }), clean);
}
