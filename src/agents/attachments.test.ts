import { describe, expect, it, vi } from "vitest";
import type { AttachmentPart, ModelMessage } from "../models/model.ts";
import { ScriptedModel } from "../models/testing.ts";
import { createCallOptions } from "../models/call-options.ts";
import { Attachments, type AgentBlobs, type AttachmentOptions } from "./attachments.ts";

const file = (blobId: string, mediaType = "image/png", bytes = 3): AttachmentPart => ({
  type: "attachment",
  blobId,
  mediaType,
  bytes,
  name: `${blobId}.x`,
});
const said = (...content: readonly AttachmentPart[]): ModelMessage => ({
  role: "user",
  content: [{ type: "text", text: "Look" }, ...content],
});
const data = new Uint8Array([1, 2, 3]);

function create(options: AttachmentOptions = {}, provider = "openai.responses", blobs?: Partial<AgentBlobs>) {
  const read = vi.fn(async (_session: string, blobId: string) => (blobId === "gone" ? undefined : data));
  const onError = vi.fn();
  const { signal } = new AbortController();
  const host = { sessionId: "s", model: { provider }, blobs: { read, ...blobs }, options, signal, onError };
  return { read, onError, files: new Attachments(host) };
}

/** What replaces each file. */
async function resolve(files: Attachments, ...messages: readonly ModelMessage[]): Promise<readonly string[]> {
  const resolved = await files.resolve(messages);
  return resolved.flatMap((message) =>
    message.role === "user"
      ? message.content.slice(1).map((part) => (part.type === "text" ? part.text : `<${part.type} ${part.mediaType}>`))
      : [],
  );
}

describe("the files of a conversation", () => {
  it("replace their references and are read once", async () => {
    const { files, read } = create();
    const messages = [said(file("a")), said(file("b"), file("a"))];
    const resolved = await files.resolve(messages);
    expect(resolved[1]).toEqual({
      role: "user",
      content: [
        { type: "text", text: "Look" },
        { type: "file", mediaType: "image/png", filename: "b.x", data },
        { type: "file", mediaType: "image/png", filename: "a.x", data },
      ],
    });
    await files.resolve(messages);
    expect(read.mock.calls.map(([, blobId]) => blobId)).toEqual(["a", "b"]);
    const plain = [said()];
    expect(await files.resolve(plain)).toBe(plain);
  });

  it("become text if they are text, cut off if they are long", async () => {
    const text = new TextEncoder().encode("你好 world");
    const { files } = create({ maxTextCharacters: 4 }, "any", { read: async () => text });
    expect(await resolve(files, said(file("a", "text/csv", text.length)))).toEqual([
      '[The user sent the file "a.x" (text/csv, 12 bytes). Content:]\n你好 w\n[cut off after 4 characters]\n[End of file]',
    ]);
  });

  it("are named if the model cannot read them or they no longer exist", async () => {
    const { files, read } = create();
    const [audio, gone] = await resolve(files, said(file("a", "audio/mp3"), file("gone")));
    expect(audio).toContain('"a.x" (audio/mp3, 3 bytes), which was omitted because you cannot read');
    expect(gone).toContain("no longer exists");
    expect(read).toHaveBeenCalledTimes(1);
    const pdf = said(file("a", "application/pdf"));
    expect(await resolve(create({}, "anthropic.messages").files, pdf)).toEqual(["<file application/pdf>"]);
    expect(await resolve(create({}, "ollama.chat").files, pdf)).toEqual([expect.stringContaining("omitted")]);
    const accepts = ["application/pdf"];
    expect(await resolve(create({ accepts }, "ollama.chat").files, pdf)).toEqual(["<file application/pdf>"]);
    expect(await resolve(create({ accepts }).files, said(file("a")))).toEqual([expect.stringContaining("omitted")]);
  });

  it("are chosen from the newest on, within the limits", async () => {
    const left: unknown = expect.stringContaining("too many or too large");
    const three = [said(file("a")), said(file("b"), file("c"))];
    expect(await resolve(create({ maxFiles: 2 }).files, ...three)).toEqual([
      left,
      "<file image/png>",
      "<file image/png>",
    ]);
    expect(await resolve(create({ maxBytes: 5 }).files, ...three)).toEqual([left, left, "<file image/png>"]);
    // A reference that understates its size gains nothing; otherwise many large files could be sent.
    const lied = said(file("a", "image/png", 0), file("b", "image/png", 2), file("c"));
    const larger: unknown = expect.stringContaining("larger than stated");
    expect(await resolve(create({ maxBytes: 5 }).files, lied)).toEqual([larger, larger, "<file image/png>"]);
  });

  it("are only named after the provider rejected them, except texts", async () => {
    const { files } = create();
    files.omitFiles();
    const [image, text] = await resolve(files, said(file("a"), file("b", "text/plain")));
    expect(image).toContain("which was omitted because your provider rejected it");
    expect(text).toContain("Content:");
  });

  it("that cannot be read are reported, and named to the model", async () => {
    const { files, onError } = create({}, "openai", { read: () => Promise.reject(new Error("disk")) });
    expect(await resolve(files, said(file("a")))).toEqual([expect.stringContaining("no longer exists")]);
    expect(onError).toHaveBeenCalledOnce();
  });

  it("have the form that each version of the AI SDK expects", () => {
    const part = { type: "file", mediaType: "image/png", data } as const;
    const messages = [{ role: "user", content: [part, file("a")] }] as const;
    const { signal } = new AbortController();
    const note = { type: "text", text: '[the file "a.x" (image/png, 3 bytes) is not available]' };
    expect(
      createCallOptions({ messages }, signal, new ScriptedModel([], { specificationVersion: "v3" })),
    ).toMatchObject({ prompt: [{ content: [part, note] }] });
    const wrapped = { ...part, data: { type: "data", data } };
    expect(
      createCallOptions({ messages }, signal, new ScriptedModel([], { specificationVersion: "v4" })),
    ).toMatchObject({ prompt: [{ content: [wrapped, note] }] });
  });
});
