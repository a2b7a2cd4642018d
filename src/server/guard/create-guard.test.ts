import { describe, expect, it, onTestFinished, vi } from "vitest";
import { isLoomError } from "../../protocol/index.ts";
import { createGuard, formatHost, listLoopbackHosts, type GuardContext } from "./create-guard.ts";
import { limitNotices, type Notice } from "./notice.ts";
import { readRequestInfo } from "./read-request-info.ts";
import { isLoopback, readAddress, readProxies } from "./read-proxies.ts";

const HOSTS = new Set([...listLoopbackHosts(10338), "loom.example.com"]);
const ORIGINS = new Set(["https://app.example.com"]);

interface Case {
  readonly headers: { readonly [name: string]: string };
  readonly peer?: string;
  readonly proxies?: readonly string[];
  readonly context?: Partial<GuardContext>;
  readonly hosts?: ReadonlySet<string> | undefined;
  readonly devOrigins?: boolean;
}

/** Returns the origin for CORS, "" if there is none, or the error code. */
function check({ headers, peer, proxies = [], context, devOrigins, ...rest }: Case): string {
  const hosts = "hosts" in rest ? rest.hosts : HOSTS;
  const url = new URL("http://10.1.1.1/v1/sessions");
  const caller = readRequestInfo({ headers: new Headers(headers), url, peer }, readProxies(proxies));
  try {
    return (
      createGuard({ hosts, origins: ORIGINS, devOrigins }).admit(caller, { isPage: false, ...context }).origin ?? ""
    );
  } catch (error) {
    return isLoomError(error) ? error.code : "thrown";
  }
}

const ownHost = { host: "localhost:10338" };

describe("the guard", () => {
  const table: [name: string, given: Case, answer: string][] = [
    ["program on this machine", { headers: ownHost }, ""],
    ["loopback address", { headers: { host: "127.0.0.1:10338" } }, ""],
    ["loopback IPv6 address", { headers: { host: "[::1]:10338" } }, ""],
    ["host in upper case", { headers: { host: "LOCALHOST:10338" } }, ""],
    ["host with the default port", { headers: { host: "loom.example.com:80" } }, ""],
    [
      "bare local address at the default port",
      { headers: { host: "10.0.0.7" }, context: { local: formatHost("10.0.0.7", 80) }, hosts: new Set() },
      "",
    ],
    ["allowed host", { headers: { host: "loom.example.com" } }, ""],
    ["foreign host that resolves to this machine", { headers: { host: "evil.example" } }, "forbidden"],
    ["foreign host with our port", { headers: { host: "evil.example:10338" } }, "forbidden"],
    ["another port of this machine", { headers: { host: "localhost:10339" } }, "forbidden"],
    ["missing port", { headers: { host: "localhost" } }, "forbidden"],
    ["own host as prefix", { headers: { host: "localhost:10338.evil.example" } }, "forbidden"],
    ["allowed host with another port", { headers: { host: "loom.example.com:81" } }, "forbidden"],
    [
      "local address of the connection",
      { headers: { host: "10.0.0.7:10338" }, context: { local: "10.0.0.7:10338" } },
      "",
    ],
    ["another address", { headers: { host: "10.0.0.8:10338" }, context: { local: "10.0.0.7:10338" } }, "forbidden"],
    ["any host if all are allowed", { headers: { host: "any.example" }, hosts: undefined }, ""],
    ["two hosts if all are allowed", { headers: { host: "a.example, b.example" }, hosts: undefined }, "forbidden"],
    [
      "user name before the host if all are allowed",
      { headers: { host: "a@b.example" }, hosts: undefined },
      "forbidden",
    ],
    ["hexadecimal address", { headers: { host: "0x7f.1" }, hosts: undefined }, "forbidden"],
    ["trailing dot", { headers: { host: "localhost.:10338" } }, "forbidden"],
    ["own host as suffix", { headers: { host: "evil-localhost:10338" } }, "forbidden"],
    ["own host as subdomain label", { headers: { host: "localhost.evil.example:10338" } }, "forbidden"],
    ["user name before own host", { headers: { host: "evil@localhost:10338" } }, "forbidden"],
    ["own host twice", { headers: { host: "localhost:10338, localhost:10338" } }, "forbidden"],
    ["own host and another", { headers: { host: "localhost:10338, evil.example" } }, "forbidden"],
    ["long form of the IPv6 address", { headers: { host: "[0:0:0:0:0:0:0:1]:10338" } }, "forbidden"],
    ["version 4 as 6", { headers: { host: "[::ffff:127.0.0.1]:10338" } }, "forbidden"],
    ["IPv6 without brackets", { headers: { host: "::1:10338" } }, "forbidden"],
    ["decimal form of the address", { headers: { host: "2130706433:10338" } }, "forbidden"],
    ["unspecified address", { headers: { host: "0.0.0.0:10338" } }, "forbidden"],
    ["path in the host", { headers: { host: "localhost:10338/x" } }, "forbidden"],
    ["empty host", { headers: { host: "" } }, "forbidden"],
    ["target with the same host", { headers: ownHost, context: { target: "localhost:10338" } }, ""],
    ["target with another host", { headers: ownHost, context: { target: "evil.example" } }, "forbidden"],
    ["unreadable target", { headers: ownHost, context: { target: "" } }, "forbidden"],

    ["own page", { headers: { ...ownHost, origin: "http://localhost:10338" } }, ""],
    ["page of another port", { headers: { ...ownHost, origin: "http://localhost:3000" } }, "forbidden"],
    ["page of another scheme", { headers: { ...ownHost, origin: "https://localhost:10338" } }, "forbidden"],
    ["page of another site", { headers: { ...ownHost, origin: "https://evil.example" } }, "forbidden"],
    ["origin null", { headers: { ...ownHost, origin: "null" } }, "forbidden"],
    ["origin without host", { headers: { ...ownHost, origin: "http://" } }, "forbidden"],
    [
      "origin with own host as subdomain label",
      { headers: { ...ownHost, origin: "http://localhost.evil.example:10338" } },
      "forbidden",
    ],
    ["origin with own port as prefix", { headers: { ...ownHost, origin: "http://localhost:103380" } }, "forbidden"],
    ["origin with own host as suffix", { headers: { ...ownHost, origin: "http://evil-localhost:10338" } }, "forbidden"],
    ["origin without port", { headers: { ...ownHost, origin: "http://localhost" } }, "forbidden"],
    [
      "origin with another name of this machine",
      { headers: { ...ownHost, origin: "http://127.0.0.1:10338" } },
      "forbidden",
    ],
    ["origin in upper case", { headers: { ...ownHost, origin: "HTTP://LOCALHOST:10338" } }, "forbidden"],
    ["origin with trailing slash", { headers: { ...ownHost, origin: "http://localhost:10338/" } }, "forbidden"],
    ["origin with trailing dot", { headers: { ...ownHost, origin: "http://localhost.:10338" } }, "forbidden"],
    [
      "own origin as user name",
      { headers: { ...ownHost, origin: "http://localhost:10338@evil.example" } },
      "forbidden",
    ],
    [
      "own origin twice",
      { headers: { ...ownHost, origin: "http://localhost:10338, http://localhost:10338" } },
      "forbidden",
    ],
    ["a file", { headers: { ...ownHost, origin: "file://" } }, "forbidden"],
    ["browser extension", { headers: { ...ownHost, origin: "chrome-extension://abcdef" } }, "forbidden"],
    ["allowed origin in upper case", { headers: { ...ownHost, origin: "https://APP.example.com" } }, "forbidden"],
    ["allowed origin over http", { headers: { ...ownHost, origin: "http://app.example.com" } }, "forbidden"],
    [
      "allowed origin with another port",
      { headers: { ...ownHost, origin: "https://app.example.com:444" } },
      "forbidden",
    ],
    ["allowed origin with trailing dot", { headers: { ...ownHost, origin: "https://app.example.com." } }, "forbidden"],
    ["allowed origin", { headers: { ...ownHost, origin: "https://app.example.com" } }, "https://app.example.com"],
    [
      "allowed origin as prefix",
      { headers: { ...ownHost, origin: "https://app.example.com.evil.example" } },
      "forbidden",
    ],
    ["subdomain of an allowed origin", { headers: { ...ownHost, origin: "https://x.app.example.com" } }, "forbidden"],
    [
      "foreign host and its own origin",
      { headers: { host: "evil.example:10338", origin: "http://evil.example:10338" } },
      "forbidden",
    ],
    ["image in a page of another site", { headers: { ...ownHost, "sec-fetch-site": "cross-site" } }, "forbidden"],
    ["image in a page of another port", { headers: { ...ownHost, "sec-fetch-site": "same-site" } }, "forbidden"],
    ["image in our own page", { headers: { ...ownHost, "sec-fetch-site": "same-origin" } }, ""],
    ["URL typed by hand", { headers: { ...ownHost, "sec-fetch-site": "none" } }, ""],
    [
      "link to the page",
      {
        headers: { ...ownHost, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
        context: { isPage: true },
      },
      "",
    ],
    [
      "link to another URL",
      { headers: { ...ownHost, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" } },
      "forbidden",
    ],
    [
      "cross-site load of the page without navigation",
      {
        headers: { ...ownHost, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" },
        context: { isPage: true },
      },
      "forbidden",
    ],
  ];
  it.each(table)("%s", (_name, given, answer) => {
    expect(check(given)).toBe(answer);
  });

  const forwarded = {
    host: "localhost:10338",
    "x-forwarded-for": "203.0.113.9",
    "x-forwarded-host": "loom.example.com",
    "x-forwarded-proto": "https",
    origin: "https://loom.example.com",
  };
  const proxied: [name: string, given: Case, answer: string][] = [
    ["page through a trusted proxy", { headers: forwarded, peer: "10.0.0.2", proxies: ["10.0.0.0/8"] }, ""],
    [
      "proxy that reports the default https port",
      {
        headers: { ...forwarded, "x-forwarded-host": "loom.example.com:443" },
        peer: "10.0.0.2",
        proxies: ["10.0.0.0/8"],
      },
      "",
    ],
    [
      "the same headers from an untrusted address",
      { headers: forwarded, peer: "192.0.2.1", proxies: ["10.0.0.0/8"] },
      "forbidden",
    ],
    ["the same headers without trusted proxies", { headers: forwarded, peer: "10.0.0.2" }, "forbidden"],
    ["unknown peer", { headers: forwarded, proxies: ["10.0.0.0/8"] }, "forbidden"],
    [
      "two proxies",
      {
        headers: { ...forwarded, "x-forwarded-for": "203.0.113.9, 10.0.0.3" },
        peer: "10.0.0.2",
        proxies: ["10.0.0.0/8"],
      },
      "",
    ],
    [
      "foreign host through a proxy",
      {
        headers: { ...forwarded, "x-forwarded-host": "evil.example", origin: "https://evil.example" },
        peer: "10.0.0.2",
        proxies: ["10.0.0.0/8"],
      },
      "forbidden",
    ],
    // A page under a rebound host name can send any header, and the local proxy is trusted.
    [
      "foreign host with a forwarded own host",
      { headers: { ...forwarded, host: "evil.example:10338" }, peer: "127.0.0.1", proxies: ["loopback"] },
      "forbidden",
    ],
  ];
  it.each(proxied)("%s", (_name, given, answer) => {
    expect(check(given)).toBe(answer);
  });
});

describe("devOrigins", () => {
  it.each([
    ["http://localhost:5173", "localhost:10338", "http://localhost:5173"],
    ["http://127.0.0.1:5173", "localhost:10338", "http://127.0.0.1:5173"],
    ["https://[::1]:8443", "[::1]:10338", "https://[::1]:8443"],
    ["http://localhost", "127.0.0.1:10338", "http://localhost"],
    ["https://app.example.com", "localhost:10338", "https://app.example.com"],
    ["http://localhost.evil.example:5173", "localhost:10338", "forbidden"],
    ["http://evil.example", "localhost:10338", "forbidden"],
    ["http://127.0.0.1.evil.example", "localhost:10338", "forbidden"],
    ["http://localhost:5173/", "localhost:10338", "forbidden"],
    ["null", "localhost:10338", "forbidden"],
    // Under its public name, the server is not a development server of this machine.
    ["http://localhost:5173", "loom.example.com", "forbidden"],
  ])("a page of %s calls %s: %j", (origin, host, answer) => {
    expect(check({ headers: { host, origin }, devOrigins: true })).toBe(answer);
    if (origin !== "https://app.example.com") expect(check({ headers: { host, origin } })).toBe("forbidden");
  });
});

describe("notices", () => {
  const rejectAll = (callers: readonly { readonly [name: string]: string }[], hosts: ReadonlySet<string> = HOSTS) => {
    const notices: Notice[] = [];
    const guard = createGuard({ hosts, origins: ORIGINS, notify: (notice) => notices.push(notice) });
    const messages = callers.map((headers) => {
      const url = new URL("http://10.1.1.1/");
      const caller = readRequestInfo({ headers: new Headers(headers), url, peer: undefined }, readProxies([]));
      try {
        return guard.admit(caller, { isPage: false }).origin;
      } catch (error) {
        return (error as Error).message;
      }
    });
    return { notices, messages };
  };

  it("name the setting to the client, but no allowed name", () => {
    const { messages } = rejectAll([
      { ...ownHost, origin: "http://localhost:5173" },
      { ...ownHost, origin: "https://new.example.com" },
    ]);
    expect(messages).toEqual([
      expect.stringMatching(/--dev-origins.*`devOrigins`.*--origins/),
      expect.stringMatching(/--origins.*`origins`/),
    ]);
    expect(messages[1]).not.toContain("dev-origins");
    expect(messages.join(" ")).not.toContain("example.com");
  });

  it("name the value to allow to the operator only", () => {
    const { notices, messages } = rejectAll([
      { host: "loom.lan:10338" },
      { ...ownHost, origin: "https://new.example.com" },
      { ...ownHost, origin: "null" },
      { host: "a b, c" },
    ]);
    expect(notices).toEqual([
      { kind: "host_refused", name: "loom.lan:10338", option: "hosts", allow: "loom.lan:10338" },
      { kind: "origin_refused", name: "https://new.example.com", option: "origins", allow: "https://new.example.com" },
      { kind: "origin_refused", name: "null", option: "origins", allow: undefined },
      { kind: "host_refused", name: "a b, c", option: "hosts", allow: undefined },
    ]);
    expect(messages.join()).not.toMatch(/localhost|10338|example/);
  });

  it("are limited to one per name and minute, and to 100 names", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const notices: Notice[] = [];
    const notify = limitNotices((notice) => notices.push(notice));
    const reject = (name: string): void => notify({ kind: "host_refused", name, option: "hosts" });
    for (let n = 0; n < 3; n++) reject("a");
    expect(notices).toHaveLength(1);
    vi.advanceTimersByTime(59_999);
    reject("a");
    expect(notices).toHaveLength(1);
    vi.advanceTimersByTime(1);
    reject("a");
    expect(notices).toHaveLength(2);
    for (let n = 0; n < 1000; n++) reject(`name-${n}`);
    expect(notices).toHaveLength(101);
    vi.advanceTimersByTime(60_000);
    reject("late");
    expect(notices.at(-1)?.name).toBe("late");
  });
});

describe("the client address", () => {
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

  it("uses the host reported by the outermost trusted proxy", () => {
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

  it("treats a path with two slashes as a path", () => {
    const url = new URL("http://h:1//evil.example/v1?a=1");
    const { url: publicUrl } = readRequestInfo(
      { headers: new Headers({ host: "h:1" }), url, peer: undefined },
      readProxies([]),
    );
    expect(publicUrl.href).toBe("http://h:1//evil.example/v1?a=1");
  });

  it.each(["10.0.0.0/33", "10.0.0.0/x", "proxy.example", "", "10.0.0.0/8/8", "::ffff:10.0.0.0/104"])(
    "rejects the proxy %s",
    (text) => {
      expect(() => readProxies([text])).toThrow(/`trustedProxies`/);
    },
  );

  it("recognizes loopback addresses", () => {
    expect(["127.0.0.1", "127.9.9.9", "::1", "[::1]", "::ffff:127.0.0.1"].map(isLoopback)).not.toContain(false);
    expect(["0.0.0.0", "::", "10.0.0.1", "localhost", "128.0.0.1"].map(isLoopback)).not.toContain(true);
    expect(readAddress("fe80::1%eth0")).toBe("fe80::1");
  });
});
