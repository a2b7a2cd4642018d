// The default theme with the colours of the chat page, and with fonts of the system.
import theme from "vitepress/theme-without-fonts";
import "../../../src/react/ui/tokens.css";
import "./style.css";

export default theme;
