/** The least that a page can do with an answer: it appends text to a node. */
const source = new EventSource("events");
source.addEventListener("message", ({ data }: MessageEvent<string>) => {
  const text = JSON.parse(data) as string | null;
  if (text !== null) return document.querySelector(".message:last-child")?.append(text);
  const message = document.createElement("pre");
  message.className = "message";
  document.querySelector("main")?.append(message);
});
