import { useEffect, useState, useSyncExternalStore } from "react";
import { Icon } from "./icons.tsx";

const darkDevice = matchMedia("(prefers-color-scheme: dark)");

function followDevice(changed: () => void): () => void {
  darkDevice.addEventListener("change", changed);
  return () => darkDevice.removeEventListener("change", changed);
}

/** Light, dark, or as the device has it. */
export function ThemeButton() {
  const [theme, setTheme] = useState(() => localStorage.getItem("theme") ?? "");
  useEffect(() => {
    if (theme === "") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem("theme", theme);
  }, [theme]);
  const deviceIsDark = useSyncExternalStore(followDevice, () => darkDevice.matches);
  const dark = theme === "" ? deviceIsDark : theme === "dark";
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={dark ? "Switch to light" : "Switch to dark"}
      onClick={() => setTheme(dark ? "light" : "dark")}
    >
      <Icon name={dark ? "sun" : "moon"} />
    </button>
  );
}
