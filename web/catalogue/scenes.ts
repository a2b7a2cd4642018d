/** All scenes of the catalogue. */
import { CONVERSATION_SCENES } from "./conversation-scenes.tsx";
import { PAGE_SCENES } from "./page-scenes.tsx";
import { PART_SCENES } from "./part-scenes.tsx";
import type { Scene } from "./scene.tsx";
import { TEXT_SCENES } from "./text-scenes.tsx";
import { THOUGHT_SCENES } from "./thought-scenes.tsx";
import { UI_SCENES } from "./ui-scenes.tsx";

export const SCENES: readonly Scene[] = [
  ...CONVERSATION_SCENES,
  ...PART_SCENES,
  ...TEXT_SCENES,
  ...THOUGHT_SCENES,
  ...UI_SCENES,
  ...PAGE_SCENES,
];
