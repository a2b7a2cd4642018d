// Files as the provider packages send them.
import { expect, onTestFinished, test } from "vitest";
import { callModel } from "../../src/models/index.ts";
import { recordListener } from "../contracts/record-listener.ts";
import { openProviderFixture, PROVIDER_WIRES } from "./provider-fixtures.ts";

const data = Uint8Array.from(Buffer.from("89504e470d0a1a0a00ff", "hex"));

test.each(PROVIDER_WIRES.map((wire) => [wire.name, wire] as const))(
  "%s sends images and documents",
  async (_, wire) => {
    const fixture = await openProviderFixture(wire);
    onTestFinished(() => fixture.close());
    for (const [mediaType, filename] of [
      ["image/png"],
      ["image/png", "猫.png"],
      ["application/pdf", "a.pdf"],
    ] as const) {
      fixture.play({ text: "I see." });
      const part = { type: "file", mediaType, data, ...(filename === undefined ? {} : { filename }) } as const;
      const messages = [{ role: "user", content: [{ type: "text", text: "Look" }, part] }] as const;
      await callModel(fixture.model, { messages }, recordListener().listener);
      const sent = JSON.stringify(fixture.server.requests.at(-1)?.body);
      expect(sent).toContain(Buffer.from(data).toString("base64"));
      expect(sent).toContain(mediaType);
      expect(sent).toContain('"Look"');
    }
  },
);
