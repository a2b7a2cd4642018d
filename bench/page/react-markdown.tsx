/** assistant-ui with react-markdown. Text is drawn as it arrives (`smooth` would draw each character). */
import { MarkdownTextPrimitive } from "@assistant-ui/react-markdown";
import { showConversation } from "./assistant-ui.tsx";

showConversation(() => <MarkdownTextPrimitive smooth={false} />);
