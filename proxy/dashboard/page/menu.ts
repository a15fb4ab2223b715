/** What each role finds where. The first of a list is at `/`. */
import type { Role } from "../contract/values.ts";

interface Group {
  readonly title: string;
  readonly entries: readonly { readonly path: string; readonly text: string }[];
}

const OWN: Group = {
  title: "You",
  entries: [{ path: "/account", text: "Passkeys and sign-ins" }],
};

/** A screen's own pages are a part of it: `/tickets/…` of `/tickets`. */
export function isWithin(path: string, entry: string): boolean {
  return path === entry || path.startsWith(`${entry}/`);
}

export const MENU: Readonly<Record<Role, readonly Group[]>> = {
  developer: [
    {
      title: "Use",
      entries: [
        { path: "/", text: "Overview" },
        { path: "/tickets", text: "Tickets" },
      ],
    },
    {
      title: "Access",
      entries: [
        { path: "/keys", text: "API keys" },
        { path: "/origins", text: "Origins" },
        { path: "/apps", text: "Identity providers" },
        { path: "/sessions", text: "Users' sessions" },
      ],
    },
    {
      title: "Terms",
      entries: [
        { path: "/fees", text: "Fee rules" },
        { path: "/audit", text: "Audit log" },
      ],
    },
    OWN,
  ],
  operator: [
    {
      title: "Service",
      entries: [
        { path: "/", text: "Health" },
        { path: "/alarms", text: "Alarms" },
        { path: "/queue", text: "Queue and gas" },
        { path: "/enclaves", text: "Enclaves" },
        { path: "/bridges", text: "Bridges" },
      ],
    },
    {
      title: "People",
      entries: [
        { path: "/developers", text: "Developers" },
        { path: "/invitations", text: "Invitations" },
        { path: "/accounts", text: "Accounts" },
        { path: "/approvals", text: "App approvals" },
      ],
    },
    {
      title: "Terms",
      entries: [
        { path: "/schedule", text: "Fee schedule" },
        { path: "/audit", text: "Audit log" },
      ],
    },
    OWN,
  ],
};
