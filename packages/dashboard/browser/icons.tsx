import type { ReactNode } from "react";

const SHAPES: Readonly<Record<string, ReactNode>> = {
  cloud: <path d="M7 18a4.5 4.5 0 0 1-.6-8.960A5.5 5.5 0 0 1 17 8.500a4.8 4.8 0 0 1 .5 9.500Z" />,
  edge: (
    <>
      <path d="M12 13v8M8.5 21h7" />
      <circle cx="12" cy="10" r="2.2" />
      <path d="M7.8 14.200a6 6 0 0 1 0-8.400M16.2 5.800a6 6 0 0 1 0 8.400M5 17a10 10 0 0 1 0-14M19 3a10 10 0 0 1 0 14" />
    </>
  ),
  device: (
    <>
      <rect x="7" y="7" width="10" height="10" rx="2" />
      <path d="M10 4v3M14 4v3M10 17v3M14 17v3M4 10h3M4 14h3M17 10h3M17 14h3" />
    </>
  ),
  other: (
    <>
      <circle cx="12" cy="12" r="8" />
      <path d="M4 12h16M12 4c3 3 3 13 0 16M12 4c-3 3-3 13 0 16" />
    </>
  ),
  lost: (
    <path d="M3 3l18 18M9.5 5.200A11 11 0 0 1 21 9M3 9c.9-.8 1.9-1.5 3-2.100M6.5 13c.8-.7 1.7-1.2 2.7-1.500M13.5 11.300c1.5.2 2.9.8 4 1.700M10 16.500a3.2 3.2 0 0 1 4 0M12 20h.01" />
  ),
  native: <path d="M4 11l8-7 8 7M6 9.500V20h12V9.500M10 20v-5h4v5" />,
  shadow: <path d="M4 8h11M11 4l4 4-4 4M20 16H9M13 12l-4 4 4 4" />,
  guest: (
    <>
      <circle cx="12" cy="8" r="3.5" />
      <path d="M5 20c.8-4 3.5-6 7-6s6.2 2 7 6" />
    </>
  ),
  pending: (
    <>
      <circle cx="12" cy="12" r="8.5" />
      <path d="M12 7v5l3.5 2" />
    </>
  ),
  sun: (
    <>
      <circle cx="12" cy="12" r="4" />
      <path d="M12 2v2.500M12 19.500V22M2 12h2.500M19.5 12H22M4.9 4.900l1.8 1.800M17.3 17.300l1.8 1.800M19.1 4.900l-1.8 1.800M6.7 17.300l-1.8 1.8" />
    </>
  ),
  moon: <path d="M20 14.500A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.500Z" />,
  plus: <path d="M12 5v14M5 12h14" />,
  leave: <path d="M14 4h5v16h-5M10 8l-4 4 4 4M6 12h10" />,
  warning: <path d="M12 4 2.8 20h18.400ZM12 10v4.500M12 17.500h.01" />,
  terminal: <path d="M4 5h16v14H4ZM7.5 9.500l3 2.5-3 2.500M12.5 15H16" />,
};

/** A drawing; words beside it say what it means. */
export function Icon({ name, size = 18 }: { name: string; size?: number }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true">
      {SHAPES[name] ?? SHAPES.other}
    </svg>
  );
}

export function Mark() {
  return (
    <svg viewBox="0 0 32 32" width="30" height="30" aria-hidden="true">
      <rect width="32" height="32" rx="8" className="mark-ground" />
      <path d="M5 20 11 9l4.5 7L20 8l7 12Z" className="mark-rock" />
      <path
        d="M5 24c2.4 0 2.4-1.5 4.8-1.500s2.4 1.5 4.8 1.5 2.4-1.5 4.8-1.500S21.8 24 24.2 24c1.2 0 1.9-.4 2.8-.8"
        className="mark-water"
      />
    </svg>
  );
}
