/** What a conversation says, for each page that shows it. */
export const writeQuestion = (turn: number): string => `Question ${turn}`;

export const writeAnswer = (turn: number): string =>
  `Answer **${turn}**.\n\n${"A line of plain text in an answer. ".repeat((turn % 5) + 1)}`;
