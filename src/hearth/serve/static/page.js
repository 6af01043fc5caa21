// The page's own script: it sends what buttons and forms say, and puts in what the server tells. Nothing else.
"use strict";

const told = document.getElementById("told");

function tell(text) {
  told.textContent = text || "";
}

document.addEventListener("pointerdown", () => tell("")); // it lies over the last answer, whose buttons go on working

async function post(path, fields) {
  try {
    const answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(fields),
    });
    const type = answer.headers.get("content-type") || "";
    const found = type.startsWith("application/json") ? await answer.json() : { says: await answer.text() };
    tell(found.says);
    return answer.ok ? found : null;
  } catch (error) {
    tell("Hearth does not answer. Is `hearth up` still running?");
    return null;
  }
}

function put(turns, id, html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  const fresh = holder.content.querySelector("article");
  const old = document.getElementById(fresh.id);
  if (old) {
    old.replaceWith(fresh);
  } else if (turns) {
    turns.querySelector(".welcome")?.remove();
    turns.append(fresh);
    turns.dataset.last = id;
    fresh.scrollIntoView({ block: "nearest" });
  }
}

function fill(id, html) {
  const place = document.getElementById(id);
  const held = place.contains(document.activeElement) ? document.activeElement.id : "";
  place.innerHTML = html;
  place.scrollIntoView({ block: "nearest" });
  const first = place.querySelector("input:not([type=hidden]), select, textarea, button");
  ((held && document.getElementById(held)) || first || place).focus();
}

for (const place of document.querySelectorAll("[data-load]")) {
  // What takes a moment comes after the page.
  fetch(place.dataset.load).then(async (answer) => {
    if (answer.ok) place.innerHTML = await answer.text();
    else place.hidden = true;
  });
}

function again(path) {
  // Hearth goes down and comes up: the page is there once it answers.
  const look = async () => {
    const answer = await fetch(path).catch(() => null);
    if (answer?.ok) location.assign(path);
    else setTimeout(look, 500);
  };
  setTimeout(look, 1500);
}

document.addEventListener("click", async (event) => {
  const example = event.target.closest("button.example");
  if (example) {
    const text = document.getElementById("text");
    text.value = example.textContent;
    text.focus();
    return;
  }
  const empties = event.target.closest("button[data-empty]");
  if (empties) document.getElementById(empties.dataset.empty).replaceChildren();
  const shapes = event.target.closest("button[data-reshape]");
  if (shapes) return reshape(shapes.form, shapes.dataset.reshape);
  const button = event.target.closest("button[data-post]");
  if (!button) return;
  const { post: path, gone, into, reload, ...fields } = button.dataset;
  button.disabled = true;
  const found = await post(path, fields);
  button.disabled = false;
  if (found?.html && into) fill(into, found.html);
  else if (found?.html) put(null, fields.id, found.html);
  if (found?.goto) location.assign(found.goto);
  if (found?.again) again(found.again);
  if (found && gone) document.getElementById(gone)?.remove();
  if (found && reload) location.reload();
});

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.post) return;
  event.preventDefault();
  const fields = Object.fromEntries(new FormData(form));
  if (form.dataset.id) fields.id = form.dataset.id;
  if (event.submitter?.name === "default") fields.default = "yes";
  if (event.submitter?.name === "nothing") fields.say = "";
  else if ("say" in fields && !fields.say.trim()) return tell("Say what I should have understood.");
  const button = event.submitter;
  if (button) button.disabled = true;
  const found = await post(form.dataset.post, fields);
  if (button) button.disabled = false;
  if (found?.goto) location.assign(found.goto);
  if (found?.html && form.dataset.into) return fill(form.dataset.into, found.html);
  if (found) {
    form.reset();
    if (form.dataset.shape) document.getElementById(form.dataset.into).replaceChildren();
    form.closest("details")?.removeAttribute("open");
    if (form.id === "say") {
      document.getElementById("attached").replaceChildren();
      document.getElementById("text").focus();
    }
  }
});

async function reshape(form, shape) {
  // A step more or less, or of another tool, which has other fields.
  const fields = { ...Object.fromEntries(new FormData(form)), id: form.dataset.id, shape };
  const found = await post(form.dataset.shape, fields);
  if (found) fill(form.dataset.into, found.html);
}

document.addEventListener("change", (event) => {
  const select = event.target.closest("select.shapes");
  if (select) reshape(select.form, "");
});

const text = document.getElementById("text");
text?.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    text.form.requestSubmit();
  }
});

// ── Passkeys, where several people live ────────────────────────────────────────────────────────────────────

async function passkey(use) {
  if (!window.PublicKeyCredential?.parseCreationOptionsFromJSON) return tell("This browser knows no passkeys at this address.");
  const [ask, path] = use === "add" ? ["/household/challenge", "/household/passkey"] : ["/sign-in/challenge", "/sign-in/passkey"];
  const begun = await post(ask, {});
  if (!begun) return;
  try {
    const options = JSON.parse(begun.options);
    const made =
      use === "add"
        ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
        : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
    const found = await post(path, { answer: JSON.stringify(made.toJSON()) });
    if (found?.goto) location.assign(found.goto);
  } catch (error) {
    tell("The passkey was not used: " + error.message);
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-passkey]");
  if (button) passkey(button.dataset.passkey);
});

// ── Files: chosen, dropped, pasted, photographed ───────────────────────────────────────────────────────────

async function attach(file) {
  try {
    const answer = await fetch("/attach?name=" + encodeURIComponent(file.name || ""), { method: "POST", body: file });
    const type = answer.headers.get("content-type") || "";
    const found = type.startsWith("application/json") ? await answer.json() : { says: await answer.text() };
    tell(found.says);
    if (!answer.ok) return;
    const chip = document.createElement("span");
    chip.className = "chip";
    chip.textContent = found.name + " ";
    const gone = document.createElement("button");
    gone.type = "button";
    gone.className = "plain";
    gone.textContent = "Remove";
    gone.setAttribute("aria-label", "Remove: " + found.name);
    gone.addEventListener("click", async () => {
      if (await post("/detach", { path: found.path })) chip.remove();
    });
    chip.append(gone);
    document.getElementById("attached").append(chip);
    if (!text.value.includes(found.name)) text.value = (text.value.trimEnd() + " “" + found.name + "”").trim() + " ";
    text.focus();
  } catch (error) {
    tell("It was not taken: " + error.message);
  }
}

if (text) {
  const chosen = document.getElementById("file");
  chosen.addEventListener("change", async () => {
    for (const file of chosen.files) await attach(file);
    chosen.value = "";
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", async (event) => {
    event.preventDefault();
    for (const file of event.dataTransfer.files) await attach(file);
  });
  document.addEventListener("paste", async (event) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    for (const file of event.clipboardData.files) await attach(file);
  });
}

document.getElementById("enroll")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const button = event.submitter;
  button.disabled = true;
  let where;
  for (const file of form.photos.files) {
    const given = new URLSearchParams({ name: form.name.value, by: form.by.value, agreed: form.agreed.value });
    const answer = await fetch("/video/enroll?" + given, { method: "POST", body: file }).catch(() => null);
    const found = answer?.headers.get("content-type")?.startsWith("application/json") ? await answer.json() : {};
    tell(file.name + ": " + (found.says || "Hearth does not answer."));
    if (!answer?.ok) break;
    where = found.goto;
  }
  button.disabled = false;
  if (where) setTimeout(() => location.assign(where), 1500);
});

function sound() {
  // Browsers make no sound before the first click on a page; then the ring is silent.
  try {
    const context = new AudioContext();
    for (const [start, pitch] of [[0, 660], [0.25, 880], [0.5, 660]]) {
      const tone = context.createOscillator();
      const gain = context.createGain();
      tone.frequency.value = pitch;
      gain.gain.setValueAtTime(0.15, context.currentTime + start);
      gain.gain.exponentialRampToValueAtTime(0.001, context.currentTime + start + 0.24);
      tone.connect(gain).connect(context.destination);
      tone.start(context.currentTime + start);
      tone.stop(context.currentTime + start + 0.25);
    }
  } catch (error) {
    // no sound here
  }
}

const UNPRESSED_MS = 400;

function listen() {
  const turns = document.getElementById("turns");
  const now = document.getElementById("now");
  const source = new EventSource("/events?last=" + encodeURIComponent(turns.dataset.last));
  const rung = new Set([...now.querySelectorAll("[data-ring]")].map((one) => one.dataset.ring));
  let asked = now.querySelector("[data-asked]")?.dataset.asked;
  let pressable = 0;
  function guard() {
    // A click that was meant for what stood there before is no answer to a question that has just appeared.
    const question = now.querySelector("[data-asked]");
    if (question?.dataset.asked !== asked) {
      asked = question?.dataset.asked;
      pressable = performance.now() + UNPRESSED_MS;
      setTimeout(guard, UNPRESSED_MS + 10);
    }
    const buttons = question?.querySelector(".buttons");
    if (buttons) buttons.inert = performance.now() < pressable;
  }
  source.addEventListener("now", (event) => {
    const holder = document.activeElement?.closest("#now [data-id], #now [data-number]")?.dataset;
    now.innerHTML = JSON.parse(event.data).html;
    guard();
    if (holder) {
      // Whoever stood on a button goes on standing on it.
      now.querySelector(holder.reply ? `[data-id="${holder.id}"][data-reply="${holder.reply}"]` : `[data-number="${holder.number}"]`)?.focus();
    }
    for (const one of now.querySelectorAll("[data-ring]")) {
      if (!rung.has(one.dataset.ring)) {
        rung.add(one.dataset.ring);
        sound();
      }
    }
    if (now.childElementCount) now.lastElementChild.scrollIntoView({ block: "nearest" });
    document.title = (now.querySelector("[data-asked], [data-ring]") ? "● " : "") + "Talk · Hearth";
  });
  source.addEventListener("turn", (event) => {
    const { id, html } = JSON.parse(event.data);
    put(turns, id, html);
  });
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 3000);
  };
}

// ── Notifications, on a phone that was let in ──────────────────────────────────────────────────────────────

async function subscribe(key) {
  if (!("serviceWorker" in navigator) || !("PushManager" in window)) {
    return tell("This browser takes no notifications. On an iPhone, add Hearth to the home screen first.");
  }
  if ((await Notification.requestPermission()) !== "granted") return tell("The phone does not allow notifications for Hearth.");
  const worker = await navigator.serviceWorker.ready;
  const given = (await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })).toJSON();
  return post("/phones/subscribe", { endpoint: given.endpoint, key: given.keys.p256dh, secret: given.keys.auth });
}

const push = document.getElementById("push");
if (push) {
  const [on, off] = push.querySelectorAll("button");
  on.addEventListener("click", async () => {
    const done = await subscribe(push.dataset.push).catch((error) => tell("It did not work: " + error.message));
    if (done) [on.hidden, off.hidden] = [true, false];
  });
  off.addEventListener("click", async () => {
    const worker = await navigator.serviceWorker?.ready;
    await (await worker?.pushManager.getSubscription())?.unsubscribe();
    if (await post("/phones/subscribe", { endpoint: "" })) [on.hidden, off.hidden] = [false, true];
  });
}

if (location.protocol === "https:" && "serviceWorker" in navigator && document.querySelector("nav")) {
  navigator.serviceWorker.register("/worker.js").catch(() => {});
}

document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

if (document.getElementById("turns")) {
  window.scrollTo(0, document.body.scrollHeight);
  listen();
}
