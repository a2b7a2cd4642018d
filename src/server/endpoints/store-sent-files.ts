/**
 * Stores the files in a message as blobs of its session: bytes of the request, and files that the server fetches if its
 * option `fetchAttachments` allows it. They count like uploads.
 */
import type { InputQuestion } from "../../agents/agent-input.ts";
import type { RunAttachments } from "../../agents/compose-question.ts";
import { AttachmentLoader } from "../../agents/load-attachments.ts";
import type { CommandState } from "../../log/index.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import type { ApiCall } from "../api/operation.ts";
import type { ServerCore } from "../api/server-core.ts";
import { blobUrl } from "../blobs/blob-rules.ts";
import { openUpload } from "./open-upload.ts";
import { type BlobReference, isWebUrl, type RunInput, type SentFile } from "./read-run-input.ts";

/** The files of a message and of the turns before it, all of them stored. */
export interface StoredInput {
  readonly attachments: readonly BlobReference[];
  filesOf(question: InputQuestion): RunAttachments;
}

/**
 * `known` is the command of an earlier request with the same key: what it fetched is not fetched again, because the file
 * may have changed.
 */
export async function storeSentFiles(
  core: ServerCore,
  { caller, signal, upload }: Pick<ApiCall<"Empty", "Empty">, "caller" | "signal" | "upload">,
  session: string,
  { attachments, earlier }: RunInput,
  known: CommandState | undefined,
): Promise<StoredInput> {
  const kept = known === undefined ? [] : readKnown(known);
  const isKept = (file: BlobReference | SentFile): boolean => known !== undefined && isWebUrl(file);
  const own = attachments.filter((file): file is SentFile => !("blob_id" in file) && !isKept(file));
  const questions = known === undefined ? earlier.map(({ question }) => question) : [];
  const sent = [...own, ...questions.flatMap((question) => question.attachments as readonly SentFile[])];
  const stored = sent.length === 0 ? [] : await load();
  const ownStored = stored.slice(0, own.length);
  const files = new Map<InputQuestion, RunAttachments>();
  let at = own.length;
  for (const question of questions) files.set(question, stored.slice(at, (at += question.attachments.length)));
  return {
    attachments: attachments.map((file, index) => {
      if ("blob_id" in file) return file;
      const found = isKept(file) ? kept[index] : ownStored.shift();
      if (found === undefined)
        throw new LoomError("command_conflict", "The key was used for a message with other files");
      return { blob_id: found.blob_id, ...(found.name === undefined ? {} : { name: found.name }) };
    }),
    filesOf: (question) => files.get(question) ?? [],
  };

  async function load(): Promise<RunAttachments[number][]> {
    const { blobs, fetchedHosts, limits } = core;
    if (blobs === undefined)
      throw new LoomError("invalid_request", "This server stores no files, so a message cannot have any", {
        in: "body",
      });
    await core.authorize({ caller, action: "blobs.write", session });
    const put = await openUpload(core, caller, session);
    await upload.enter();
    const save = async (_session: string, bytes: Uint8Array, about: Parameters<typeof put>[1]) => {
      const info = await put([bytes], about);
      return { blob_id: info.blobId, url: blobUrl(core, info) };
    };
    const agentBlobs = { read: () => Promise.resolve(undefined), save };
    const storage = { blobs: agentBlobs, options: { maxBytes: limits.maxBlobBytes }, allow: fetchedHosts ?? [] };
    try {
      return [...(await new AttachmentLoader(session, storage, signal).load(sent))];
    } catch (error) {
      // A host that does not answer is a fault of the request, not of the server.
      if (!isLoomError(error, "tool_failed", "tool_timeout")) throw error;
      throw new LoomError("url_refused", error.message, { in: "body" }, { cause: error });
    }
  }
}

function readKnown({ body }: CommandState): readonly RunAttachments[number][] {
  return (body["attachments"] ?? []) as unknown as RunAttachments;
}
