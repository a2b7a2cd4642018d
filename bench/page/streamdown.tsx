/** assistant-ui with Streamdown, which parses only the blocks that changed. Text is drawn as it arrives. */
import { StreamdownTextPrimitive } from "@assistant-ui/react-streamdown";
import { showConversation } from "./assistant-ui.tsx";

showConversation(() => <StreamdownTextPrimitive smooth={false} />);
