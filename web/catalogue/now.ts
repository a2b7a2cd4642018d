/** The time of all scenes: Saturday, 15 November 2025, 10:00 UTC. */
export const NOW = Date.UTC(2025, 10, 15, 10);
