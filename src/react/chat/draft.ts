/** A message that is being written: its text and files, and what can be done with the files. */

/** A file of a message that was not sent yet. */
export interface DraftFile {
  readonly id: string;
  readonly name: string;
  readonly bytes: number;
  readonly mediaType: string;
  /** Upload progress, 0 to 100. */
  readonly progress: number;
  /** Present once the file is stored. */
  readonly blob?: { readonly blob_id: string } | undefined;
  /** Local URL of an image. Default: `Ui.blobUrl` of the stored file. */
  readonly preview?: string | undefined;
  /** Why the upload failed. */
  readonly error?: string | undefined;
  /** A long text that became this file when it was pasted, and where. */
  readonly pasted?: { readonly text: string; readonly at: number } | undefined;
}

/** What can be done with the files of a draft. */
export interface FileActions {
  attach(files: readonly File[]): void;
  /** Attaches a text that was pasted at this position of the box. */
  attachText(name: string, text: string, at: number): void;
  removeAttachment(id: string): void;
  /** Repeats a failed upload. */
  retryAttachment(id: string): void;
  /** Removes a pasted file and puts its text into the box. */
  undoPaste(id: string): void;
}

/** Text and files of a message that was not sent yet. */
export interface Draft<F extends DraftFile = DraftFile> {
  readonly text: string;
  readonly attachments: readonly F[];
}

/** Puts the pasted files that match back into the text. */
export function undoPaste<F extends DraftFile>(draft: Draft<F>, matches: (file: F) => boolean): Draft<F> {
  let { text } = draft;
  const attachments = draft.attachments.filter((file) => {
    if (file.pasted === undefined || !matches(file)) return true;
    const at = Math.min(file.pasted.at, text.length);
    text = text.slice(0, at) + file.pasted.text + text.slice(at);
    return false;
  });
  return { text, attachments };
}
