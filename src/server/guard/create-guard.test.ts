import { describe, expect, it, onTestFinished, vi } from "vitest";
import { isLoomError } from "../../protocol/index.ts";
import { createGuard, formatHost, listLoopbackHosts, type Visit } from "./create-guard.ts";
import { limitNotices } from "./limit-notices.ts";
import type { Notice } from "./notice.ts";
import { readRequestInfo } from "./read-request-info.ts";
import { isLoopback, readAddress, readProxies } from "./read-proxies.ts";

const HOSTS = new Set([...listLoopbackHosts(10338), "loom.example.com"]);
const ORIGINS = new Set(["https://app.example.com"]);

interface Case {
  readonly headers: { readonly [name: string]: string };
  readonly peer?: string;
  readonly proxies?: readonly string[];
  readonly visit?: Partial<Visit>;
  readonly hosts?: ReadonlySet<string> | undefined;
}

/** The origin that is told it may read, "" where none is, or the refusal. */
function judge({ headers, peer, proxies = [], visit, ...rest }: Case): string {
  const hosts = "hosts" in rest ? rest.hosts : HOSTS;
  const url = new URL("http://10.1.1.1/v1/sessions");
  const caller = readRequestInfo({ headers: new Headers(headers), url, peer }, readProxies(proxies));
  try {
    return createGuard({ hosts, origins: ORIGINS }).admit(caller, { isPage: false, ...visit }) ?? "";
  } catch (error) {
    return isLoomError(error) ? error.code : "thrown";
  }
}

const here = { host: "localhost:10338" };

describe("who may come in", () => {
  const table: [why: string, given: Case, answer: string][] = [
    ["a program on this machine", { headers: here }, ""],
    ["by address", { headers: { host: "127.0.0.1:10338" } }, ""],
    ["by address of version 6", { headers: { host: "[::1]:10338" } }, ""],
    ["in capitals", { headers: { host: "LOCALHOST:10338" } }, ""],
    ["with the port that goes without saying", { headers: { host: "loom.example.com:80" } }, ""],
    [
      "a bare address at that port",
      { headers: { host: "10.0.0.7" }, visit: { local: formatHost("10.0.0.7", 80) }, hosts: new Set() },
      "",
    ],
    ["a name that was allowed", { headers: { host: "loom.example.com" } }, ""],
    ["a name of a stranger that leads here", { headers: { host: "evil.example" } }, "forbidden"],
    ["with our port", { headers: { host: "evil.example:10338" } }, "forbidden"],
    ["another port of this machine", { headers: { host: "localhost:10339" } }, "forbidden"],
    ["our name without its port", { headers: { host: "localhost" } }, "forbidden"],
    ["our name as the beginning of another", { headers: { host: "localhost:10338.evil.example" } }, "forbidden"],
    ["an allowed name with another port", { headers: { host: "loom.example.com:81" } }, "forbidden"],
    [
      "a bare address we were reached at",
      { headers: { host: "10.0.0.7:10338" }, visit: { local: "10.0.0.7:10338" } },
      "",
    ],
    [
      "a bare address we were not",
      { headers: { host: "10.0.0.8:10338" }, visit: { local: "10.0.0.7:10338" } },
      "forbidden",
    ],
    ["any name where nobody cares", { headers: { host: "any.example" }, hosts: undefined }, ""],
    ["two names where nobody cares", { headers: { host: "a.example, b.example" }, hosts: undefined }, "forbidden"],
    ["somebody at a name where nobody cares", { headers: { host: "a@b.example" }, hosts: undefined }, "forbidden"],
    ["a number that is an address", { headers: { host: "0x7f.1" }, hosts: undefined }, "forbidden"],
    ["our name with a dot", { headers: { host: "localhost.:10338" } }, "forbidden"],
    ["our name as the end of another", { headers: { host: "evil-localhost:10338" } }, "forbidden"],
    ["our name below another", { headers: { host: "localhost.evil.example:10338" } }, "forbidden"],
    ["somebody at our name", { headers: { host: "evil@localhost:10338" } }, "forbidden"],
    ["two names of ours", { headers: { host: "localhost:10338, localhost:10338" } }, "forbidden"],
    ["our name and another", { headers: { host: "localhost:10338, evil.example" } }, "forbidden"],
    ["version 6 in full", { headers: { host: "[0:0:0:0:0:0:0:1]:10338" } }, "forbidden"],
    ["version 4 as 6", { headers: { host: "[::ffff:127.0.0.1]:10338" } }, "forbidden"],
    ["version 6 without brackets", { headers: { host: "::1:10338" } }, "forbidden"],
    ["an address in other words", { headers: { host: "2130706433:10338" } }, "forbidden"],
    ["an address of nobody", { headers: { host: "0.0.0.0:10338" } }, "forbidden"],
    ["a path in a name", { headers: { host: "localhost:10338/x" } }, "forbidden"],
    ["no name", { headers: { host: "" } }, "forbidden"],
    ["a target of the same name", { headers: here, visit: { target: "localhost:10338" } }, ""],
    ["a target of another name", { headers: here, visit: { target: "evil.example" } }, "forbidden"],
    ["a target that cannot be read", { headers: here, visit: { target: "" } }, "forbidden"],

    ["our own page", { headers: { ...here, origin: "http://localhost:10338" } }, ""],
    ["a page of another port", { headers: { ...here, origin: "http://localhost:3000" } }, "forbidden"],
    ["a page of another scheme", { headers: { ...here, origin: "https://localhost:10338" } }, "forbidden"],
    ["a page of another site", { headers: { ...here, origin: "https://evil.example" } }, "forbidden"],
    ["a page of no site", { headers: { ...here, origin: "null" } }, "forbidden"],
    ["a page without a name", { headers: { ...here, origin: "http://" } }, "forbidden"],
    ["a page below our name", { headers: { ...here, origin: "http://localhost.evil.example:10338" } }, "forbidden"],
    ["a page that begins as ours", { headers: { ...here, origin: "http://localhost:103380" } }, "forbidden"],
    ["a page that ends as ours", { headers: { ...here, origin: "http://evil-localhost:10338" } }, "forbidden"],
    ["a page without our port", { headers: { ...here, origin: "http://localhost" } }, "forbidden"],
    ["a page of another name of ours", { headers: { ...here, origin: "http://127.0.0.1:10338" } }, "forbidden"],
    ["our page in capitals", { headers: { ...here, origin: "HTTP://LOCALHOST:10338" } }, "forbidden"],
    ["our page with a slash", { headers: { ...here, origin: "http://localhost:10338/" } }, "forbidden"],
    ["our page with a dot", { headers: { ...here, origin: "http://localhost.:10338" } }, "forbidden"],
    ["somebody at our page", { headers: { ...here, origin: "http://localhost:10338@evil.example" } }, "forbidden"],
    ["our page twice", { headers: { ...here, origin: "http://localhost:10338, http://localhost:10338" } }, "forbidden"],
    ["a file", { headers: { ...here, origin: "file://" } }, "forbidden"],
    ["an extension", { headers: { ...here, origin: "chrome-extension://abcdef" } }, "forbidden"],
    ["an allowed one in capitals", { headers: { ...here, origin: "https://APP.example.com" } }, "forbidden"],
    ["an allowed one over http", { headers: { ...here, origin: "http://app.example.com" } }, "forbidden"],
    ["an allowed one with a port", { headers: { ...here, origin: "https://app.example.com:444" } }, "forbidden"],
    ["an allowed one with a dot", { headers: { ...here, origin: "https://app.example.com." } }, "forbidden"],
    ["a page that was allowed", { headers: { ...here, origin: "https://app.example.com" } }, "https://app.example.com"],
    ["nearly one that was", { headers: { ...here, origin: "https://app.example.com.evil.example" } }, "forbidden"],
    ["one below one that was", { headers: { ...here, origin: "https://x.app.example.com" } }, "forbidden"],
    [
      "a page of a stranger's name, its own to it",
      { headers: { host: "evil.example:10338", origin: "http://evil.example:10338" } },
      "forbidden",
    ],
    ["an image in a page of another site", { headers: { ...here, "sec-fetch-site": "cross-site" } }, "forbidden"],
    ["an image in a page of another port", { headers: { ...here, "sec-fetch-site": "same-site" } }, "forbidden"],
    ["an image in our own page", { headers: { ...here, "sec-fetch-site": "same-origin" } }, ""],
    ["an address typed by hand", { headers: { ...here, "sec-fetch-site": "none" } }, ""],
    [
      "a link to the page",
      { headers: { ...here, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }, visit: { isPage: true } },
      "",
    ],
    [
      "a link to anything else",
      { headers: { ...here, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" } },
      "forbidden",
    ],
    [
      "the page in a frame's script",
      { headers: { ...here, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }, visit: { isPage: true } },
      "forbidden",
    ],
  ];
  it.each(table)("%s", (_why, given, answer) => {
    expect(judge(given)).toBe(answer);
  });

  const told = {
    host: "localhost:10338",
    "x-forwarded-for": "203.0.113.9",
    "x-forwarded-host": "loom.example.com",
    "x-forwarded-proto": "https",
    origin: "https://loom.example.com",
  };
  const proxied: [why: string, given: Case, answer: string][] = [
    ["a page by a trusted proxy", { headers: told, peer: "10.0.0.2", proxies: ["10.0.0.0/8"] }, ""],
    [
      "by a proxy that tells the port of https",
      { headers: { ...told, "x-forwarded-host": "loom.example.com:443" }, peer: "10.0.0.2", proxies: ["10.0.0.0/8"] },
      "",
    ],
    ["the same by one that is not", { headers: told, peer: "192.0.2.1", proxies: ["10.0.0.0/8"] }, "forbidden"],
    ["the same where none is", { headers: told, peer: "10.0.0.2" }, "forbidden"],
    ["where nobody knows who connects", { headers: told, proxies: ["10.0.0.0/8"] }, "forbidden"],
    [
      "by two proxies",
      { headers: { ...told, "x-forwarded-for": "203.0.113.9, 10.0.0.3" }, peer: "10.0.0.2", proxies: ["10.0.0.0/8"] },
      "",
    ],
    [
      "a stranger's name by a proxy",
      {
        headers: { ...told, "x-forwarded-host": "evil.example", origin: "https://evil.example" },
        peer: "10.0.0.2",
        proxies: ["10.0.0.0/8"],
      },
      "forbidden",
    ],
    // A page under a name that leads to this machine may write any header; the proxy on it is trusted.
    [
      "a stranger's name that says it was ours",
      { headers: { ...told, host: "evil.example:10338" }, peer: "127.0.0.1", proxies: ["loopback"] },
      "forbidden",
    ],
  ];
  it.each(proxied)("%s", (_why, given, answer) => {
    expect(judge(given)).toBe(answer);
  });
});

describe("whoever runs the server", () => {
  const refuseAll = (callers: readonly { readonly [name: string]: string }[], hosts: ReadonlySet<string> = HOSTS) => {
    const notices: Notice[] = [];
    const guard = createGuard({ hosts, origins: ORIGINS, notify: (notice) => notices.push(notice) });
    const messages = callers.map((headers) => {
      const url = new URL("http://10.1.1.1/");
      const caller = readRequestInfo({ headers: new Headers(headers), url, peer: undefined }, readProxies([]));
      try {
        return guard.admit(caller, { isPage: false });
      } catch (error) {
        return (error as Error).message;
      }
    });
    return { notices, messages };
  };

  it("learns what would let them in, and they do not", () => {
    const { notices, messages } = refuseAll([
      { host: "loom.lan:10338" },
      { ...here, origin: "https://new.example.com" },
      { ...here, origin: "null" },
      { host: "a b, c" },
    ]);
    expect(notices).toEqual([
      { what: "host_refused", name: "loom.lan:10338", option: "hosts", allow: "loom.lan:10338" },
      { what: "origin_refused", name: "https://new.example.com", option: "origins", allow: "https://new.example.com" },
      { what: "origin_refused", name: "null", option: "origins", allow: undefined },
      { what: "host_refused", name: "a b, c", option: "hosts", allow: undefined },
    ]);
    expect(messages.join()).not.toMatch(/localhost|10338|example/);
  });

  it("learns of each once in a minute, and of no more than a hundred", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const notices: Notice[] = [];
    const tell = limitNotices((notice) => notices.push(notice));
    const knock = (name: string): void => tell({ what: "host_refused", name, option: "hosts" });
    for (let n = 0; n < 3; n++) knock("a");
    expect(notices).toHaveLength(1);
    vi.advanceTimersByTime(59_999);
    knock("a");
    expect(notices).toHaveLength(1);
    vi.advanceTimersByTime(1);
    knock("a");
    expect(notices).toHaveLength(2);
    for (let n = 0; n < 1000; n++) knock(`name-${n}`);
    expect(notices).toHaveLength(101);
    vi.advanceTimersByTime(60_000);
    knock("late");
    expect(notices.at(-1)?.name).toBe("late");
  });
});

describe("who asks", () => {
  const ask = (forwarded: string | undefined, peer: string | undefined, proxies: readonly string[]) => {
    const headers = new Headers(forwarded === undefined ? {} : { "x-forwarded-for": forwarded });
    return readRequestInfo({ headers, url: new URL("http://h/"), peer }, readProxies(proxies)).address;
  };
  it.each<[string | undefined, string | undefined, readonly string[], string | undefined]>([
    [undefined, "192.0.2.1", [], "192.0.2.1"],
    ["203.0.113.9", "192.0.2.1", [], "192.0.2.1"],
    ["203.0.113.9", "10.0.0.1", ["10.0.0.1"], "203.0.113.9"],
    ["6.6.6.6, 203.0.113.9", "10.0.0.1", ["10.0.0.1"], "203.0.113.9"],
    ["6.6.6.6, 203.0.113.9, 10.0.0.2", "10.0.0.1", ["10.0.0.0/8"], "203.0.113.9"],
    ["10.0.0.9, 10.0.0.2", "10.0.0.1", ["10.0.0.0/8"], "10.0.0.9"],
    ["203.0.113.9:4711", "::ffff:127.0.0.1", ["loopback"], "203.0.113.9"],
    ["[2001:db8::1]:4711", "::1", ["loopback"], "2001:db8::1"],
    ["unknown", "127.0.0.1", ["loopback"], undefined],
    ["203.0.113.9", undefined, ["loopback"], undefined],
    [undefined, "::ffff:192.0.2.1", [], "192.0.2.1"],
  ])("forwarded for %s by %s", (forwarded, peer, proxies, address) => {
    expect(ask(forwarded, peer, proxies)).toBe(address);
  });

  it("takes the name that the outermost trusted proxy has told", () => {
    const headers = new Headers({
      host: "inner:1",
      "x-forwarded-for": "203.0.113.9, 10.0.0.2",
      "x-forwarded-host": "forged.example, outer.example, middle.example",
      "x-forwarded-proto": "https",
    });
    const caller = readRequestInfo(
      { headers, url: new URL("http://inner:1/a?b=1"), peer: "10.0.0.1" },
      readProxies(["10.0.0.0/8"]),
    );
    expect([caller.host, caller.url.href]).toEqual(["outer.example", "https://outer.example/a?b=1"]);
  });

  it("reads a path with two slashes as a path", () => {
    const url = new URL("http://h:1//evil.example/v1?a=1");
    const { url: seen } = readRequestInfo({ headers: new Headers({ host: "h:1" }), url, peer: undefined }, readProxies([]));
    expect(seen.href).toBe("http://h:1//evil.example/v1?a=1");
  });

  it.each(["10.0.0.0/33", "10.0.0.0/x", "proxy.example", "", "10.0.0.0/8/8", "::ffff:10.0.0.0/104"])(
    "does not trust %s",
    (text) => {
      expect(() => readProxies([text])).toThrow(/`trustedProxies`/);
    },
  );

  it("knows this machine", () => {
    expect(["127.0.0.1", "127.9.9.9", "::1", "[::1]", "::ffff:127.0.0.1"].map(isLoopback)).not.toContain(false);
    expect(["0.0.0.0", "::", "10.0.0.1", "localhost", "128.0.0.1"].map(isLoopback)).not.toContain(true);
    expect(readAddress("fe80::1%eth0")).toBe("fe80::1");
  });
});
