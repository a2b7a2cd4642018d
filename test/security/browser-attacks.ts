/**
 * Attacks of a page of another site against a server. Each function runs in the browser page, so it uses only its
 * argument. It returns what the page could read for each attempt: an empty string if it could read nothing. The test
 * checks separately whether the server changed.
 */

/** The server under attack, and IDs of its objects that the attacker has guessed or learned. */
export interface AttackInput {
  /** Origin of the server. */
  readonly base: string;
  readonly session: string;
  readonly run: string;
  readonly call: string;
  readonly blob: string;
  /** The attacker's credential, for attempts to sign the user in as the attacker. */
  readonly credential: string;
  /** Whether the browser sends cookies with the requests. */
  readonly cookies: boolean;
}

/** What the page could read, by attempt. An empty string means nothing. */
export type AttackResults = { readonly [tried: string]: string };

/** Opens WebSockets on both paths. */
export async function trySockets({ base, session }: AttackInput): Promise<AttackResults> {
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
        // Data that was sent before `close` is still delivered.
        end("opened");
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

/** Sends every kind of request that a script can send, with and without a preflight. */
export async function tryRequests({
  base,
  session,
  run,
  call,
  blob,
  credential,
  cookies,
}: AttackInput): Promise<AttackResults> {
  const got: { [tried: string]: string } = {};
  const at = `/v1/sessions/${session}`;
  const ask = async (name: string, path: string, init: RequestInit, redirected = false): Promise<void> => {
    const leaving = new AbortController();
    try {
      const address = redirected ? `/redirect?to=${encodeURIComponent(base + path)}` : base + path;
      const credentials = cookies ? "include" : "omit";
      const response = await fetch(address, { credentials, signal: leaving.signal, ...init });
      // A stream may never end: read only the first chunk, if there is one.
      const late = new Promise<undefined>((resolve) => void setTimeout(resolve, 300));
      const first = await Promise.race([response.body?.getReader().read(), late]);
      const text = new TextDecoder().decode(first?.value);
      const isHidden = response.type === "opaque" || response.type === "opaqueredirect";
      got[name] = isHidden ? text : `read ${response.status} ${text.slice(0, 80)}`;
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
    "as text, no-cors": (body) => ({ mode: "no-cors", headers: TEXT_TYPE, body }),
    "as text": (body) => ({ headers: TEXT_TYPE, body }),
    "as JSON, no-cors": (body) => ({ mode: "no-cors", headers: JSON_TYPE, body }),
    "as a form": (body) => ({
      mode: "no-cors",
      body: new URLSearchParams(JSON.parse(body) as { [name: string]: string }),
    }),
    "as multipart": (body) => {
      const form = new FormData();
      form.append("body", new Blob([body], { type: "application/json" }));
      return { mode: "no-cors", body: form };
    },
    "without a type": (body) => ({ mode: "no-cors", body: new Blob([body]) }),
    "with a misleading type": (body) => ({
      mode: "no-cors",
      headers: { "content-type": "text/plain; charset=application/json" },
      body,
    }),
    "with keepalive": (body) => ({ mode: "no-cors", keepalive: true, headers: TEXT_TYPE, body }),
    "without a referrer": (body) => ({ mode: "no-cors", referrerPolicy: "no-referrer", headers: TEXT_TYPE, body }),
    "with a method override": (body) => ({ headers: { ...TEXT_TYPE, "x-http-method-override": "PUT" }, body }),
  };
  const pending: Promise<void>[] = [];
  for (const [index, [path, body]] of changes.entries())
    // Every kind of body for the two most sensitive endpoints, two kinds for the others.
    for (const [way, make] of Object.entries(ways).slice(0, index < 2 ? undefined : 2)) {
      const init = { method: "POST", ...make(JSON.stringify(body)) };
      pending.push(ask(`${path} ${way}`, path, init));
      if (index < 2 && way.includes("text")) pending.push(ask(`${path} ${way}, redirected`, path, init, true));
    }
  pending.push(
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
    pending.push(ask(`GET ${path}`, path, {}), ask(`GET ${path}, no-cors`, path, { mode: "no-cors" }));
    pending.push(ask(`GET ${path}, redirected`, path, {}, true));
  }
  await Promise.all(pending);
  for (const type of ["text/plain", "application/json", ""])
    for (const [path, body] of changes.slice(0, 2))
      // A beacon has no readable response.
      navigator.sendBeacon(base + path, new Blob([JSON.stringify(body)], { type }));
  return got;
}

/** Submits forms, which may target any site and need no script. */
export async function tryForms({ base, session, call, credential }: AttackInput): Promise<AttackResults> {
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
  // Encoded as text/plain, name and value together form a JSON text with `=` inside a string.
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

/** Loads the server's responses as images, scripts, styles, event streams and workers. */
export async function tryLoads({ base, session, blob, cookies }: AttackInput): Promise<AttackResults> {
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
      for (const type of ["load", "loadedmetadata"]) element.addEventListener(type, end("loaded"));
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
      source.addEventListener("open", end("opened"));
      source.addEventListener("error", end(""));
    });
  const record = async (name: string, start: () => Promise<string>): Promise<void> => {
    got[name] = await start().catch(() => "");
  };
  const inWorker = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
      worker.addEventListener("message", ({ data }) => resolve(String(data)));
      worker.addEventListener("error", reject);
    });
  const pending: Promise<void>[] = [];
  for (const path of ["/v1/sessions", `${at}/events?follow=false`, `${at}/blobs/${blob}`, "/healthz"]) {
    for (const tag of ["img", "script", "audio", "video"]) pending.push(load(tag, path));
    pending.push(load("img", path, { crossorigin: "use-credentials" }));
    pending.push(load("script", path, { type: "module", crossorigin: "use-credentials" }));
    pending.push(load("link", path, { rel: "stylesheet" }), load("link", path, { rel: "preload", as: "fetch" }));
  }
  for (const path of [`${at}/events`, `/api/chat?session_id=${session}`])
    pending.push(stream(path, true), stream(path, false));
  const file = JSON.stringify(`${base}${at}/blobs/${blob}`);
  const list = JSON.stringify(`${base}/v1/sessions`);
  pending.push(
    record("import()", async () =>
      Object.keys((await import(/* @vite-ignore */ `${base}/v1/sessions`)) as object).join(),
    ),
    record("a worker", async () => {
      void new Worker(`${base}${at}/blobs/${blob}`);
      return "started";
    }),
    record("importScripts in a worker", () => inWorker(`importScripts(${file}); postMessage("ran");`)),
    record("fetch in a worker", () =>
      inWorker(
        `fetch(${list}, { credentials: "${cookies ? "include" : "omit"}" }).then((r) => r.text(), () => "").then((text) => postMessage(text));`,
      ),
    ),
    record("a service worker", async () => {
      await navigator.serviceWorker.register(`${base}${at}/blobs/${blob}`, { scope: `${base}/` });
      return "registered";
    }),
    record("XMLHttpRequest", () => {
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
  await Promise.all(pending);
  return got;
}
