/**
 * Reads the message of a request in any of its forms: a text, a text with files, or the messages of a conversation.
 * It checks the form and decodes the files; it loads and stores nothing.
 *
 * Invariant: no file of this machine is named in the result, whatever the client sends.
 */
import { type CheckedAgentInput, checkInput, type InputAttachment, readBase64 } from "../../agents/agent-input.ts";
import { MAX_ATTACHMENTS } from "../../engine/run-origin.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import type { StartRun } from "../api/shapes.generated.ts";

/** A file that the server already has. */
export interface BlobReference {
  readonly blob_id: string;
  readonly name?: string;
}

/** A file in the request, or a URL to fetch. */
export type SentFile = Extract<InputAttachment, { readonly data: Uint8Array } | { readonly url: string | URL }>;

export interface RunInput {
  readonly text: string;
  readonly attachments: readonly (BlobReference | SentFile)[];
  /** What came before the message in the conversation. */
  readonly earlier: CheckedAgentInput["earlier"];
}

type GivenAttachment = NonNullable<StartRun["attachments"]>[number];

/** Throws `invalid_request` with the path of the fault, or `url_refused` for a web URL unless `canFetch` is true. */
export function readRunInput(body: StartRun, { canFetch }: { readonly canFetch: boolean }): RunInput {
  const { message, messages, attachments = [] } = body;
  if ((message === undefined) === (messages === undefined))
    throw refuse("The request needs either `message` or `messages`", "message");
  const refused = canFetch ? undefined : findWebUrl(body);
  if (refused !== undefined)
    throw new LoomError(
      "url_refused",
      "This server does not fetch files from URLs; send the file as `data`, or upload it as a blob",
      { path: refused, in: "body" },
    );
  const listed = attachments.map((given, index) => readAttachment(given, `attachments[${index}]`));
  if (messages !== undefined) {
    const { text, attachments: files, earlier } = checkMessages(messages);
    return limitFiles({ text, attachments: [...assertSent(files), ...listed], earlier });
  }
  const { text = "", attachments: inner = [] } = typeof message === "string" ? { text: message } : (message ?? {});
  const own = inner.map((given, index) => readAttachment(given, `message.attachments[${index}]`));
  return limitFiles({ text, attachments: [...own, ...listed], earlier: [] });
}

export function isWebUrl(file: BlobReference | SentFile): boolean {
  return "url" in file && !/^data:/i.test(String(file.url));
}

/** Returns the path of the first URL that would have to be fetched. */
function findWebUrl({ message, messages = [], attachments = [] }: StartRun): string | undefined {
  const inner = typeof message === "object" ? (message.attachments ?? []) : [];
  const places = [
    ...inner.map(({ url }, index) => [url, `message.attachments[${index}].url`]),
    ...attachments.map(({ url }, index) => [url, `attachments[${index}].url`]),
    ...messages.flatMap(({ content }, index) =>
      typeof content === "string"
        ? []
        : content.flatMap(({ data, image }, at) => [
            [data, `messages[${index}].content[${at}].data`],
            [image, `messages[${index}].content[${at}].image`],
          ]),
    ),
  ];
  const found = places.find(([url]) => typeof url === "string" && /^https?:/i.test(url));
  return found?.[1] as string | undefined;
}

function limitFiles(input: RunInput): RunInput {
  // A message with more than its share of references is refused with its command.
  const sent = [...input.attachments, ...input.earlier.flatMap(({ question }) => question.attachments)].filter(
    (file) => !("blob_id" in file),
  );
  if (sent.length > MAX_ATTACHMENTS)
    throw refuse(`A request can have at most ${MAX_ATTACHMENTS} files, not ${sent.length}; upload the others as blobs`);
  return input;
}

function checkMessages(messages: NonNullable<StartRun["messages"]>): CheckedAgentInput {
  try {
    const checked = checkInput(messages as Parameters<typeof checkInput>[0]);
    for (const { question } of checked.earlier) assertSent(question.attachments);
    return checked;
  } catch (error) {
    if (!isLoomError(error, "invalid_command")) throw error;
    const { path } = error.details;
    throw refuse(error.message, typeof path === "string" ? path : "messages");
  }
}

/** Of a client, `checkInput` returns only these: JSON has neither paths nor `URL` objects. */
function assertSent(files: readonly InputAttachment[]): readonly SentFile[] {
  return files.map((file) => {
    if ("path" in file) throw refuse("A file must have `data` or a URL", "messages");
    return file;
  });
}

function readAttachment(given: GivenAttachment, path: string): BlobReference | SentFile {
  const { blob_id, data, url, media_type: mediaType, name } = given;
  const about = dropUndefined({ mediaType, name });
  if ([blob_id, data, url].filter((value) => value !== undefined).length !== 1)
    throw refuse("An attachment needs one of `blob_id`, `data` and `url`", path);
  if (blob_id !== undefined) return dropUndefined({ blob_id, name });
  if (data !== undefined) {
    try {
      return { data: readBase64(data, `${path}.data`), ...about };
    } catch (error) {
      throw isLoomError(error, "invalid_command") ? refuse(error.message, `${path}.data`) : error;
    }
  }
  if (url === undefined || !/^(?:https?|data):/i.test(url))
    throw refuse("The URL must begin with https:, http: or data:", `${path}.url`);
  return { url, ...about };
}

/** An error about the body of a request. */
export function refuse(message: string, path?: string): LoomError {
  return new LoomError("invalid_request", message, dropUndefined({ path, in: "body" }));
}
