/**
 * What the page of another site tries with a server. Each of these runs in the page, and knows nothing but what it is
 * given: it says of everything it tried what it got, which is nothing where it was refused. What came of it at the server
 * is for others to see.
 */

/** The server that is tried, and names in it that were guessed or overheard. */
export interface Prey {
  /** Scheme, name and port. */
  readonly base: string;
  readonly session: string;
  readonly run: string;
  readonly call: string;
  readonly blob: string;
  /** Of the one who tries, to make somebody work in their name. */
  readonly credential: string;
  /** Whether somebody's cookies are of use there. */
  readonly cookies: boolean;
}

/** By what was tried: what was got, or "". */
export type Got = { readonly [tried: string]: string };

/** Both sockets, and whatever a socket may ask for along the way. */
export async function trySockets({ base, session }: Prey): Promise<Got> {
  const got: { [tried: string]: string } = {};
  const dial = (path: string, protocols: string[] = []): Promise<void> =>
    new Promise((resolve) => {
      const socket = new WebSocket(base.replace("http", "ws") + path, protocols);
      const end = (what: string): void => {
        got[`socket ${path} ${protocols.join()}`] = what;
        socket.close();
        resolve();
      };
      socket.addEventListener("open", () => {
        socket.send(JSON.stringify({ type: "run", id: "1", session: "stolen", message: "Hi" }));
        // What was sent is not lost by closing.
        end("it opened");
      });
      socket.addEventListener("error", () => end(""));
    });
  await Promise.all([
    dial("/v1/ws"),
    dial("/v1/ws", ["loom"]),
    dial("/v1/ws?ticket="),
    dial("/agentOS/v1/ws_stream"),
    dial(`/agentOS/v1/ws_stream?session_id=${session}`),
  ]);
  return got;
}

/** All that a script can send: what browsers ask leave for first, and what they do not. */
export async function tryRequests({ base, session, run, call, blob, credential, cookies }: Prey): Promise<Got> {
  const got: { [tried: string]: string } = {};
  const at = `/v1/sessions/${session}`;
  const ask = async (name: string, path: string, init: RequestInit, away = false): Promise<void> => {
    const leaving = new AbortController();
    try {
      const address = away ? `/away?to=${encodeURIComponent(base + path)}` : base + path;
      const credentials = cookies ? "include" : "omit";
      const response = await fetch(address, { credentials, signal: leaving.signal, ...init });
      // Of a stream that does not end, the beginning is enough, if there is one.
      const late = new Promise<undefined>((resolve) => void setTimeout(resolve, 300));
      const first = await Promise.race([response.body?.getReader().read(), late]);
      const text = new TextDecoder().decode(first?.value);
      const isHidden = response.type === "opaque" || response.type === "opaqueredirect";
      got[name] = isHidden ? text : `it read ${response.status} ${text.slice(0, 80)}`;
    } catch {
      got[name] = "";
    } finally {
      leaving.abort();
    }
  };
  const changes: readonly (readonly [string, object])[] = [
    ["/v1/runs", { message: "Hi" }],
    [`${at}/approvals/${call}`, { decision: "approved" }],
    [`${at}/runs`, { message: "Hi", when_busy: "interrupt" }],
    ["/v1/sessions", { session_id: "stolen" }],
    ["/api/chat", { session_id: "stolen", content: "Hi" }],
    [`${at}/runs/${run}/cancel`, {}],
    [`${at}/fork`, {}],
    [`${at}/commands`, { id: "x", session, type: "approve", call_id: call, decision: "approved" }],
    [`${at}/blobs`, { text: "theirs" }],
    [`${at}/ingest`, { type: "run_start", run_id: "theirs", message: "Hi" }],
    [`${at}/shares`, {}],
    ["/v1/knowledge?name=theirs.md", {}],
    ["/v1/auth/sign-in", { credential }],
    ["/v1/auth/tickets", {}],
    ["/v1/auth/sign-out", {}],
  ];
  const JSON_TYPE = { "content-type": "application/json" };
  const TEXT_TYPE = { "content-type": "text/plain" };
  const ways: { readonly [name: string]: (body: string) => RequestInit } = {
    "as JSON": (body) => ({ headers: JSON_TYPE, body }),
    "as text, unread": (body) => ({ mode: "no-cors", headers: TEXT_TYPE, body }),
    "as text": (body) => ({ headers: TEXT_TYPE, body }),
    "as JSON, unread": (body) => ({ mode: "no-cors", headers: JSON_TYPE, body }),
    "as a form": (body) => ({
      mode: "no-cors",
      body: new URLSearchParams(JSON.parse(body) as { [name: string]: string }),
    }),
    "as parts": (body) => {
      const form = new FormData();
      form.append("body", new Blob([body], { type: "application/json" }));
      return { mode: "no-cors", body: form };
    },
    "as nothing known": (body) => ({ mode: "no-cors", body: new Blob([body]) }),
    "as two types": (body) => ({
      mode: "no-cors",
      headers: { "content-type": "text/plain; charset=application/json" },
      body,
    }),
    "for later": (body) => ({ mode: "no-cors", keepalive: true, headers: TEXT_TYPE, body }),
    "without a referrer": (body) => ({ mode: "no-cors", referrerPolicy: "no-referrer", headers: TEXT_TYPE, body }),
    "with another method": (body) => ({ headers: { ...TEXT_TYPE, "x-http-method-override": "PUT" }, body }),
  };
  const asked: Promise<void>[] = [];
  for (const [index, [path, body]] of changes.entries())
    // All ways for what matters most, the two that differ most for the others.
    for (const [way, make] of Object.entries(ways).slice(0, index < 2 ? undefined : 2)) {
      const init = { method: "POST", ...make(JSON.stringify(body)) };
      asked.push(ask(`${path} ${way}`, path, init));
      if (index < 2 && way.includes("text")) asked.push(ask(`${path} ${way}, sent away`, path, init, true));
    }
  asked.push(
    ask(`PATCH ${at}`, at, { method: "PATCH", headers: JSON_TYPE, body: '{"title":"theirs"}' }),
    ask(`DELETE ${at}`, at, { method: "DELETE" }),
    ask(`OPTIONS ${at}`, at, { method: "OPTIONS" }),
  );
  const reads = [
    "/v1/sessions",
    at,
    `${at}/events?follow=false`,
    `${at}/export`,
    `${at}/blobs/${blob}`,
    `${at}/approvals`,
  ];
  const open = ["/v1/auth", "/v1/agents", "/openapi.json", "/healthz", "/metrics", "/", "/assets/none.js"];
  for (const path of [...reads, ...open]) {
    asked.push(ask(`GET ${path}`, path, {}), ask(`GET ${path}, unread`, path, { mode: "no-cors" }));
    asked.push(ask(`GET ${path}, sent away`, path, {}, true));
  }
  await Promise.all(asked);
  for (const type of ["text/plain", "application/json", ""])
    for (const [path, body] of changes.slice(0, 2))
      // Nothing is told of it but that it is on its way.
      navigator.sendBeacon(base + path, new Blob([JSON.stringify(body)], { type }));
  return got;
}

/** Forms, which go anywhere, and need no script. */
export async function tryForms({ base, session, call, credential }: Prey): Promise<Got> {
  const got: { [tried: string]: string } = {};
  let count = 0;
  const room = document.createElement("div");
  document.body.append(room);
  const submit = (path: string, method: string, enctype: string, fields: { readonly [name: string]: string }) =>
    new Promise<void>((resolve) => {
      const frame = document.createElement("iframe");
      frame.name = `${base}-${++count}`;
      room.append(frame);
      const form = document.createElement("form");
      Object.assign(form, { action: base + path, method, enctype, target: frame.name });
      for (const [name, value] of Object.entries(fields)) {
        const input = document.createElement("input");
        Object.assign(input, { type: "hidden", name, value });
        form.append(input);
      }
      room.append(form);
      frame.addEventListener("load", () => {
        let text: string;
        try {
          text = frame.contentDocument?.body.textContent ?? "";
        } catch {
          text = "";
        }
        got[`form ${method} ${enctype} ${path}`] = text;
        resolve();
      });
      form.submit();
    });
  const at = `/v1/sessions/${session}`;
  // The name and the value are one text of JSON, with `=` between them.
  const asText = (body: object) => ({ [`${JSON.stringify(body).slice(0, -1)},"x":"`]: '"}' });
  const bodies: readonly (readonly [string, { readonly [name: string]: string }])[] = [
    ["/v1/runs", { message: "Hi" }],
    [`${at}/approvals/${call}`, { decision: "approved" }],
    ["/v1/auth/sign-in", { credential }],
    ["/v1/auth/sign-out", { now: "yes" }],
  ];
  const submitted: Promise<void>[] = [];
  for (const [path, fields] of bodies) {
    submitted.push(submit(path, "post", "text/plain", asText(fields)));
    submitted.push(submit(path, "post", "application/x-www-form-urlencoded", fields));
    submitted.push(submit(path, "post", "multipart/form-data", fields));
    submitted.push(submit(path, "get", "application/x-www-form-urlencoded", { ...fields, _method: "POST" }));
  }
  submitted.push(submit(`${at}/export`, "get", "application/x-www-form-urlencoded", {}));
  await Promise.all(submitted);
  room.remove();
  return got;
}

/** What a page may load from anywhere, taken for what it is not. */
export async function tryLoads({ base, session, blob, cookies }: Prey): Promise<Got> {
  const got: { [tried: string]: string } = {};
  const at = `/v1/sessions/${session}`;
  const load = (tag: string, path: string, more: { readonly [name: string]: string } = {}): Promise<void> =>
    new Promise((resolve) => {
      const name = `<${tag} ${JSON.stringify(more)}> ${path}`;
      const element = document.createElement(tag);
      for (const [attribute, value] of Object.entries(more)) element.setAttribute(attribute, value);
      const end = (what: string) => (): void => {
        got[name] = what;
        element.remove();
        resolve();
      };
      for (const type of ["load", "loadedmetadata"]) element.addEventListener(type, end("it loaded"));
      element.addEventListener("error", end(""));
      element.setAttribute(tag === "link" ? "href" : "src", base + path);
      document.body.append(element);
    });
  const stream = (path: string, withCredentials: boolean): Promise<void> =>
    new Promise((resolve) => {
      const source = new EventSource(base + path, { withCredentials });
      const end = (what: string) => (): void => {
        got[`EventSource ${path} ${withCredentials}`] = what;
        source.close();
        resolve();
      };
      source.addEventListener("open", end("it opened"));
      source.addEventListener("error", end(""));
    });
  const tell = async (name: string, start: () => Promise<string>): Promise<void> => {
    got[name] = await start().catch(() => "");
  };
  const inWorker = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
      worker.addEventListener("message", ({ data }) => resolve(String(data)));
      worker.addEventListener("error", reject);
    });
  const asked: Promise<void>[] = [];
  for (const path of ["/v1/sessions", `${at}/events?follow=false`, `${at}/blobs/${blob}`, "/healthz"]) {
    for (const tag of ["img", "script", "audio", "video"]) asked.push(load(tag, path));
    asked.push(load("img", path, { crossorigin: "use-credentials" }));
    asked.push(load("script", path, { type: "module", crossorigin: "use-credentials" }));
    asked.push(load("link", path, { rel: "stylesheet" }), load("link", path, { rel: "preload", as: "fetch" }));
  }
  for (const path of [`${at}/events`, `/api/chat?session_id=${session}`])
    asked.push(stream(path, true), stream(path, false));
  const file = JSON.stringify(`${base}${at}/blobs/${blob}`);
  const list = JSON.stringify(`${base}/v1/sessions`);
  asked.push(
    tell("import()", async () =>
      Object.keys((await import(/* @vite-ignore */ `${base}/v1/sessions`)) as object).join(),
    ),
    tell("a worker", async () => {
      void new Worker(`${base}${at}/blobs/${blob}`);
      return "it began";
    }),
    tell("importScripts in a worker", () => inWorker(`importScripts(${file}); postMessage("it ran");`)),
    tell("fetch in a worker", () =>
      inWorker(
        `fetch(${list}, { credentials: "${cookies ? "include" : "omit"}" }).then((r) => r.text(), () => "").then((text) => postMessage(text));`,
      ),
    ),
    tell("a service worker", async () => {
      await navigator.serviceWorker.register(`${base}${at}/blobs/${blob}`, { scope: `${base}/` });
      return "it is there";
    }),
    tell("a request of old", () => {
      const request = new XMLHttpRequest();
      request.open("GET", `${base}/v1/sessions`);
      request.withCredentials = cookies;
      return new Promise((resolve, reject) => {
        request.addEventListener("load", () => resolve(request.responseText));
        request.addEventListener("error", reject);
        request.send();
      });
    }),
  );
  await Promise.all(asked);
  return got;
}
