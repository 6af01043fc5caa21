// Shows notifications, and does what their buttons say: only what is safe to say without seeing more.
"use strict";

const ACTIONS = {
  ring: [{ action: "done", title: "Done" }, { action: "later", title: "In 10 minutes" }],
  question: [{ action: "no", title: "No" }],
};

self.addEventListener("push", (event) => {
  let note = { kind: "test", id: "", title: "Hearth", body: "" };
  try {
    note = event.data.json();
  } catch (error) {
    // a notification must be shown all the same
  }
  event.waitUntil(
    self.registration.showNotification(note.title, {
      body: note.body,
      tag: note.kind + "-" + note.id,
      icon: "/static/icon-192.png",
      data: { kind: note.kind, id: note.id },
      actions: ACTIONS[note.kind] || [],
      requireInteraction: note.kind !== "test",
    })
  );
});

async function say(path, fields) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(fields),
  }).catch(() => null);
  if (answer?.ok) return;
  const said = answer ? "That was over already, or this phone is let in no more." : "Hearth was not reached.";
  await self.registration.showNotification("Hearth", { body: said, tag: "said", icon: "/static/icon-192.png" });
}

async function open() {
  const windows = await self.clients.matchAll({ type: "window" });
  if (windows.length) return windows[0].focus();
  return self.clients.openWindow("/");
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { kind, id } = event.notification.data;
  if (event.action === "no") event.waitUntil(say("/answer", { id, reply: "no" }));
  else if (event.action === "done") event.waitUntil(say("/ring", { number: id }));
  else if (event.action === "later") event.waitUntil(say("/ring", { number: id, minutes: "10" }));
  else event.waitUntil(open(kind));
});

self.addEventListener("fetch", (event) => {
  if (event.request.mode !== "navigate") return;
  const away = new Response(
    "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'><title>Hearth</title><h1>Hearth is not reached</h1><p>Is this phone at home, and is <code>hearth up</code> running?</p>",
    { status: 503, headers: { "content-type": "text/html; charset=utf-8" } }
  );
  event.respondWith(fetch(event.request).catch(() => away));
});

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
