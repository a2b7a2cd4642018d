/** Uploads the files of a draft to its session. */
import type { ClientToken } from "../../client/index.ts";
import { sendFile } from "../../client/transport/session-files.ts";
import { createCommandId } from "../../client/connection/command-sender.ts";
import { readRefusal } from "../../client/transport/refusal.ts";
import { parseObject } from "../../protocol/json.ts";
import { isRasterType } from "../text/sanitize-link.ts";
import { type Draft, type DraftFile, type FileActions, undoPaste } from "./draft.ts";

export interface UploadedFile extends DraftFile {
  /** Kept to repeat a failed upload. */
  readonly file?: File;
}

export interface ChatFilesOptions {
  /** Endpoint of the files of the session. */
  readonly url: URL;
  readonly token: ClientToken | undefined;
  readonly change: (update: (draft: Draft<UploadedFile>) => Draft<UploadedFile>) => void;
}

/** The server accepts this many files in one message. */
const MAX_ATTACHMENTS = 20;

export function createFileActions({ url, token, change }: ChatFilesOptions): FileActions {
  const uploads = new Map<string, AbortController>();
  const update = (id: string, changes: Partial<UploadedFile>): void =>
    change(({ text, attachments }) => ({
      text,
      attachments: attachments.map((file) => (file.id === id ? { ...file, ...changes } : file)),
    }));
  const upload = async (id: string, file: File): Promise<void> => {
    const controller = new AbortController();
    uploads.set(id, controller);
    const target = new URL(url);
    target.searchParams.set("name", file.name);
    const { signal } = controller;
    const onProgress = (percent: number): void => update(id, { progress: Math.round(percent) });
    try {
      const { status, text } = await sendFile(target.href, file, { token, signal, onProgress });
      const blobId = parseObject(text)?.["blob_id"];
      if (status === 201 && typeof blobId === "string") update(id, { blob: { blob_id: blobId }, progress: 100 });
      else update(id, { error: readRefusal(parseObject(text), `HTTP ${status}`).message });
    } catch (error) {
      update(id, { error: error instanceof Error ? error.message : String(error) });
    } finally {
      uploads.delete(id);
    }
  };
  const attachAll = (files: readonly { readonly file: File; readonly pasted?: DraftFile["pasted"] }[]): void => {
    const added = files.map(({ file, pasted }): UploadedFile & { readonly file: File } => ({
      id: createCommandId(),
      name: file.name,
      bytes: file.size,
      mediaType: file.type,
      progress: 0,
      file,
      pasted,
      preview: isRasterType(file.type) ? URL.createObjectURL(file) : undefined,
    }));
    change(({ text, attachments }) => ({ text, attachments: [...attachments, ...added].slice(0, MAX_ATTACHMENTS) }));
    for (const { id, file } of added.slice(0, MAX_ATTACHMENTS)) void upload(id, file);
  };
  const drop = (id: string): void => {
    uploads.get(id)?.abort();
    change((draft) => {
      const { preview } = draft.attachments.find((file) => file.id === id) ?? {};
      if (preview !== undefined) URL.revokeObjectURL(preview);
      return { ...draft, attachments: draft.attachments.filter((file) => file.id !== id) };
    });
  };
  return {
    attach: (files) => attachAll(files.map((file) => ({ file }))),
    attachText: (name, text, at) =>
      attachAll([{ file: new File([text], name, { type: "text/plain" }), pasted: { text, at } }]),
    removeAttachment: drop,
    retryAttachment(id) {
      change((draft) => {
        const { file } = draft.attachments.find((one) => one.id === id) ?? {};
        if (file !== undefined) queueMicrotask(() => void upload(id, file));
        return draft;
      });
      update(id, { error: undefined, progress: 0 });
    },
    undoPaste(id) {
      uploads.get(id)?.abort();
      change((draft) => undoPaste(draft, (file) => file.id === id));
    },
  };
}
