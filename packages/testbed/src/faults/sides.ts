/** The two sites of a fault bed: who offloads, and where to. */
export const HOME = "site-1";
export const AWAY = "site-2";
