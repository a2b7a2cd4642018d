/** The conversation and its runs. */
import type { ReactNode } from "react";
import { Conversation, type UiLanguage, UiProvider, useUi } from "../../src/react/page-parts.ts";
import { Pressed } from "./pressed.tsx";
import { pick, RunScene, say, type Scene, type SceneSession, useScene } from "./scene.tsx";

const asks = (language: UiLanguage): string =>
  pick(language, "Which tides are the highest of the year?", "一年中哪一次潮汐最高？");
const answers = (language: UiLanguage): string =>
  pick(
    language,
    "The **spring tides** near the equinoxes are the highest. Sun and moon are then in line with the equator, and their pulls add up.",
    "**春分和秋分前后的大潮**最高。此时太阳和月亮都接近赤道平面，两者的引力相互叠加。",
  );

function begin(session: SceneSession, language: UiLanguage): SceneSession {
  return session.begin("run-1", { message: asks(language) }).put({ type: "node_enter", id: "think" });
}

function finish(session: SceneSession, language: UiLanguage): SceneSession {
  return begin(session, language)
    .put(say(answers(language)), { type: "node_exit", id: "think", result: "Ok" })
    .end({}, answers(language));
}

interface ConversationSceneProps {
  readonly language: UiLanguage;
  readonly write: (session: SceneSession) => unknown;
  readonly hasPending?: boolean;
}

function ConversationScene({ language, write, hasPending = false }: ConversationSceneProps): ReactNode {
  const session = useScene(write);
  const pending = [{ runId: "next", text: pick(language, "And the lowest?", "那最低的呢？"), files: [] }];
  return (
    <div className="scene-pane">
      <Conversation receiver={session.receiver} sessionId={session.id} pending={hasPending ? pending : undefined}>
        <p className="page-loading">{pick(language, "No messages yet", "暂无消息")}</p>
      </Conversation>
    </div>
  );
}

/** Other versions of the conversation begin with this run. */
function Versions({ children }: { readonly children: ReactNode }): ReactNode {
  const versions = new Map([["run-1", { position: 2, count: 3, previous: "a", next: "b" }]]);
  return (
    <UiProvider {...useUi()} versions={versions}>
      {children}
    </UiProvider>
  );
}

export const CONVERSATION_SCENES: readonly Scene[] = [
  {
    component: "conversation",
    modules: ["conversation/conversation", "conversation/pending-item", "conversation/message-item"],
    states: {
      empty: (language) => <ConversationScene language={language} write={() => undefined} />,
      pending: (language) => (
        <ConversationScene language={language} hasPending write={(session) => finish(session, language)} />
      ),
      streaming: (language) => (
        <ConversationScene
          language={language}
          write={(session) => begin(session, language).put(say(answers(language).slice(0, 40)))}
        />
      ),
      finished: (language) => <ConversationScene language={language} write={(session) => finish(session, language)} />,
      long: (language) => (
        <ConversationScene
          language={language}
          write={(session) => {
            for (let run = 1; run <= 60; run++)
              session
                .begin(`run-${run}`, { message: `${asks(language)} (${run})` })
                .put(say(answers(language)))
                .end({}, answers(language));
          }}
        />
      ),
    },
  },
  {
    component: "run",
    modules: [
      "conversation/run-item",
      "conversation/run-footer",
      "conversation/feedback",
      "conversation/user-message",
      "conversation/version-switcher",
      "thoughts/stage",
      "parts/clock-text",
      "web/shell/turn-menu",
    ],
    states: {
      empty: (language) => <RunScene write={(session) => session.begin("run-1", { message: asks(language) })} />,
      streaming: (language) => (
        <RunScene write={(session) => begin(session, language).put(say(answers(language).slice(0, 60)))} />
      ),
      finished: (language) => <RunScene write={(session) => finish(session, language)} />,
      failed: (language) => (
        <RunScene
          write={(session) =>
            begin(session, language)
              .putAt(undefined, {
                type: "error",
                message: pick(language, "The model did not respond for 60 s", "模型在 60 秒内没有响应"),
                code: "model_timeout",
                recoverable: false,
              })
              .end({
                status: "error",
                code: "model_timeout",
                reason: pick(language, "The model did not respond for 60 s", "模型在 60 秒内没有响应"),
              })
          }
        />
      ),
      cancelled: (language) => (
        <RunScene
          write={(session) =>
            begin(session, language)
              .put(say(answers(language).slice(0, 30)))
              .end({ status: "cancelled" })
          }
        />
      ),
      waiting: (language) => (
        <RunScene
          write={(session) => {
            const call = {
              call_id: "call-1",
              name: "write_file",
              arguments: { path: "tides.md", content: "# Tides\n" },
            };
            begin(session, language).put({ type: "tool_call", ...call }, { type: "tool_approval", ...call });
          }}
        />
      ),
      menu: (language) => (
        <Pressed selector=".loom-run-footer [aria-haspopup]">
          <RunScene write={(session) => finish(session, language)} />
        </Pressed>
      ),
      versions: (language) => (
        <Versions>
          <RunScene write={(session) => finish(session, language)} />
        </Versions>
      ),
      rated: (language) => (
        <RunScene
          write={(session) =>
            finish(session, language).putAt(undefined, {
              type: "feedback",
              target_run_id: "run-1",
              rating: "bad",
              comment: pick(language, "No source is named.", "没有说明来源。"),
            })
          }
        />
      ),
      interrupted: (language) => (
        <RunScene
          write={(session) =>
            begin(session, language)
              .put(say(answers(language).slice(0, 30)))
              .close()
          }
        />
      ),
      unverified: (language) => (
        <RunScene
          write={(session) =>
            begin(session, language)
              .put(say(answers(language)))
              .lose()
              .end({}, answers(language))
              .close()
          }
        />
      ),
      long: (language) => (
        <RunScene
          write={(session) =>
            session
              .begin("run-1", {
                message: Array.from({ length: 40 }, () => asks(language)).join("\n"),
                attachments: [
                  { blob_id: "0".repeat(64), name: "tides-2025.csv", media_type: "text/csv", bytes: 48_213 },
                  { blob_id: "1".repeat(64), name: "harbour.pdf", media_type: "application/pdf", bytes: 1_204_112 },
                ],
              })
              .put(say(`${answers(language)}\n\n`.repeat(4)))
              .end({}, answers(language))
          }
        />
      ),
    },
  },
  {
    component: "restarted run",
    modules: ["parts/superseded-item"],
    states: {
      finished: (language) => (
        <RunScene
          write={(session) =>
            begin(session, language)
              .put(say(answers(language).slice(0, 24)), {
                type: "node_exit",
                id: "think",
                result: { Err: "interrupted" },
              })
              .putAt(undefined, {
                type: "error",
                message: pick(language, "The process of the run ended", "运行所在的进程已退出"),
                code: "interrupted",
                recoverable: true,
                attempt: 2,
              })
              .putAt("node-2", { type: "node_enter", id: "think", supersedes: "node-1", attempt: 2 })
              .putAt("node-2", say(answers(language)))
              .putAt("node-2", { type: "node_exit", id: "think", result: "Ok" })
              .end({}, answers(language))
          }
        />
      ),
    },
  },
];
