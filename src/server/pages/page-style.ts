/** How the start page looks: light or dark as the system does, narrow and wide. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --strong: #2563eb; --bad: #b91c1c; }
@media (prefers-color-scheme: dark) { :root { --strong: #7aa7ff; --bad: #f87171; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 0 1rem; max-width: 50rem; min-height: 100dvh; display: flex; flex-direction: column;
  font: 1rem/1.5 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: .5rem; align-items: baseline; border-bottom: 1px solid var(--line); padding: .5rem 0; }
h1 { font-size: 1.2rem; margin: 0; }
#about { margin: 0; flex: 1 1 12rem; opacity: .75; font-size: .9rem; }
main { flex: 1; padding: 1rem 0; }
article { margin: 0 0 1rem; overflow-wrap: anywhere; }
article h2 { font-size: .85rem; margin: 0; opacity: .75; }
article.user { background: var(--soft); border-radius: .5rem; padding: .5rem .75rem; }
.text { white-space: pre-wrap; }
details { border-left: 3px solid var(--line); padding-left: .75rem; margin: .25rem 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; margin: .25rem 0; }
#curl { background: var(--soft); padding: .5rem; border-radius: .5rem; }
img { display: block; max-width: 100%; max-height: 20rem; margin: .25rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .25rem 0; overflow-wrap: normal; }
th, td { border: 1px solid var(--line); padding: .2rem .6rem; text-align: start; }
fieldset { border: 1px solid var(--line); border-radius: .5rem; margin: .25rem 0; }
fieldset label { display: flex; gap: .5rem; align-items: baseline; }
.bad { color: var(--bad); }
#status { min-height: 1.5em; margin: 0; opacity: .75; font-size: .9rem; }
form { position: sticky; bottom: 0; display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; padding: .75rem 0;
  background: Canvas; border-top: 1px solid var(--line); }
form label { font-size: .85rem; }
.question button { margin: .25rem .5rem .25rem 0; }
textarea { flex: 1 1 16rem; font: inherit; padding: .5rem; resize: vertical; }
button, select { font: inherit; padding: .4rem .8rem; }
:focus-visible { outline: 2px solid var(--strong); outline-offset: 2px; }
footer { font-size: .9rem; padding-bottom: 1rem; }
`;
