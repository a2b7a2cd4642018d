/** Buttons, menus, dialogs and other controls. */
import type { ReactNode } from "react";
import {
  Badge,
  Button,
  CopyButton,
  Dialog,
  Disclosure,
  Icon,
  IconButton,
  Menu,
  ProgressBar,
  Spinner,
  type UiLanguage,
} from "../../src/react/page-parts.ts";
import { Pressed } from "./pressed.tsx";
import { pick, type Scene } from "./scene.tsx";

const ICONS = [
  "add",
  "alert",
  "attach",
  "book",
  "check",
  "down",
  "file",
  "inspect",
  "link",
  "list",
  "retry",
  "send",
  "settings",
  "stop",
  "think",
  "tree",
] as const;

const nothing = (): void => undefined;

function Row({ children }: { readonly children: ReactNode }): ReactNode {
  return <div className="scene-row">{children}</div>;
}

function showMenu(language: UiLanguage): ReactNode {
  const items = pick(language, ["Rename", "Pin", "Delete"], ["重命名", "置顶", "删除"]).map((label, index) => ({
    key: label,
    label,
    isDanger: index === 2,
    isChosen: index === 1,
    onSelect: nothing,
  }));
  return (
    <Menu label={pick(language, "Actions", "操作")} items={items}>
      {pick(language, "Actions", "操作")}
    </Menu>
  );
}

export const UI_SCENES: readonly Scene[] = [
  {
    component: "button",
    modules: ["ui/button", "ui/copy-button", "ui/icon"],
    states: {
      all: (language) => (
        <>
          {(["primary", "quiet", "danger"] as const).map((variant) => (
            <Row key={variant}>
              <Button variant={variant} icon="send">
                {pick(language, "Send", "发送")}
              </Button>
              <Button variant={variant}>{pick(language, "Send", "发送")}</Button>
              <Button variant={variant} disabled>
                {pick(language, "Send", "发送")}
              </Button>
              <IconButton variant={variant} icon="retry" label={pick(language, "Retry", "重试")} />
            </Row>
          ))}
          <Row>
            <CopyButton getText={() => "text"} />
            {ICONS.map((name) => (
              <Icon key={name} name={name} />
            ))}
          </Row>
        </>
      ),
    },
  },
  {
    component: "indicators",
    modules: ["ui/indicators"],
    states: {
      all: (language) => (
        <>
          <Row>
            {(["plain", "good", "warn", "bad", "busy"] as const).map((tone) => (
              <Badge key={tone} tone={tone}>
                {pick(language, "Status", "状态")}
              </Badge>
            ))}
            <Spinner />
          </Row>
          <ProgressBar value={40} label={pick(language, "Progress", "进度")} />
          <ProgressBar value={undefined} label={pick(language, "Progress", "进度")} />
        </>
      ),
    },
  },
  {
    component: "menu",
    modules: ["ui/menu"],
    states: {
      closed: showMenu,
      open: (language) => <Pressed selector="[aria-haspopup]">{showMenu(language)}</Pressed>,
    },
  },
  {
    component: "dialog",
    modules: ["ui/dialog"],
    states: {
      open: (language) => (
        <Dialog title={pick(language, "Delete the session?", "删除会话？")} onClose={nothing}>
          <p>{pick(language, "All its messages are deleted.", "其中的所有消息都将被删除。")}</p>
          <Row>
            <Button variant="danger">{pick(language, "Delete", "删除")}</Button>
          </Row>
        </Dialog>
      ),
    },
  },
  {
    component: "disclosure",
    modules: ["ui/disclosure"],
    states: {
      closed: (language) => (
        <Disclosure summary={pick(language, "Details", "详情")}>{pick(language, "Content", "内容")}</Disclosure>
      ),
      open: (language) => (
        <Disclosure summary={pick(language, "Details", "详情")} isInitiallyOpen>
          {pick(language, "Content", "内容")}
        </Disclosure>
      ),
    },
  },
];
