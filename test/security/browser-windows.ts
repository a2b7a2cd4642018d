// Attacks with frames and windows: a page of another site embeds the server's pages or opens them in a window.
import type { Frame, Page } from "playwright-core";

interface EmbeddedFrame {
  readonly tag: string;
  readonly address: string;
  /** URL that the frame shows after loading. */
  readonly url: string;
}

const FRAMES = ["iframe", "iframe sandbox=allow-scripts", "object", "embed"] as const;

/** Embeds each address in every kind of element that can show another page. */
export async function embedInFrames(frame: Frame, addresses: readonly string[]): Promise<readonly EmbeddedFrame[]> {
  const cases = FRAMES.flatMap((tag) => addresses.map((address) => ({ tag, address })));
  await frame.evaluate(
    (all) =>
      Promise.all(
        all.map(({ tag, address }, index) => {
          const [name = "", sandbox] = tag.split(" sandbox=");
          const element = document.createElement(name);
          if (sandbox !== undefined) element.setAttribute("sandbox", sandbox);
          element.setAttribute("name", `shown-${index}`);
          element.setAttribute(name === "object" ? "data" : "src", address);
          return new Promise<void>((resolve) => {
            for (const type of ["load", "error"]) element.addEventListener(type, () => resolve());
            document.body.append(element);
            setTimeout(resolve, 5000);
          });
        }),
      ),
    cases,
  );
  const inside = frame.childFrames();
  const shown = cases.map((each, index) => ({
    ...each,
    url: inside.find((child) => child.name() === `shown-${index}`)?.url() ?? "",
  }));
  await frame.evaluate(() => document.body.replaceChildren());
  return shown;
}

export async function openWindow(frame: Frame, address: string): Promise<Page> {
  const [opened] = await Promise.all([
    frame.page().waitForEvent("popup"),
    frame.evaluate((to) => void Object.assign(globalThis, { popup: globalThis.open(to) }), address),
  ]);
  await opened.waitForLoadState();
  return opened;
}

/** Runs in the attacker's page. Returns whether the page still has access to the window it opened. */
export function canReachWindow(): boolean {
  return !(globalThis as unknown as { readonly popup: Window }).popup.closed;
}

/** Runs in the attacker's page. Returns what it can read from the window it opened. */
export function attackWindow(base: string): {
  readonly isClosed: boolean;
  readonly frames: number;
  readonly read: string;
} {
  const { popup } = globalThis as unknown as { readonly popup: Window };
  const attempt = (act: () => unknown): string => {
    try {
      const what = act();
      return typeof what === "string" ? what : "";
    } catch {
      return "";
    }
  };
  popup.postMessage({ type: "run", message: "Hi" }, base);
  attempt(() => Object.assign(popup, { moved: true }));
  attempt(() => (popup.location.href = "javascript:void(document.title='moved')"));
  return {
    isClosed: popup.closed,
    frames: popup.length,
    read: attempt(() => popup.document.title) + attempt(() => popup.location.href),
  };
}
