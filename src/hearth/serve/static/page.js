// The page's own script: it sends what buttons and forms say, and puts in what the server tells. Nothing else.
"use strict";

const told = document.getElementById("told");

function tell(text) {
  told.textContent = text || "";
}

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

document.addEventListener("click", async (event) => {
  const example = event.target.closest("button.example");
  if (example) {
    const text = document.getElementById("text");
    text.value = example.textContent;
    text.focus();
    return;
  }
  const button = event.target.closest("button[data-post]");
  if (!button) return;
  const { post: path, gone, ...fields } = button.dataset;
  button.disabled = true;
  const found = await post(path, fields);
  button.disabled = false;
  if (found?.html) put(null, fields.id, found.html);
  if (found && gone) document.getElementById(gone)?.remove();
});

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.post) return;
  event.preventDefault();
  const fields = Object.fromEntries(new FormData(form));
  if (form.dataset.id) fields.id = form.dataset.id;
  if (event.submitter?.name === "nothing") fields.say = "";
  else if ("say" in fields && !fields.say.trim()) return tell("Say what I should have understood.");
  const button = event.submitter;
  if (button) button.disabled = true;
  const found = await post(form.dataset.post, fields);
  if (button) button.disabled = false;
  if (found) {
    form.reset();
    form.closest("details")?.removeAttribute("open");
    if (form.id === "say") document.getElementById("text").focus();
  }
});

const text = document.getElementById("text");
text?.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    text.form.requestSubmit();
  }
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

if (document.getElementById("turns")) {
  window.scrollTo(0, document.body.scrollHeight);
  listen();
}
