// The script of the history, on the page and in the report's file: it searches, pages, and opens everything on paper.
"use strict";
(function () {
  // A row: number, request, status, tools, milliseconds, reason, answer, plan, when, id.
  const rows = JSON.parse(document.getElementById("data").textContent);
  const form = document.getElementById("search");
  const body = document.getElementById("rows");
  const pages = document.getElementById("pages");
  const leadsTo = document.getElementById("episodes").dataset.leadsTo;
  const PAGE = 100;
  let page = 0;

  function cell(line, text, kind) {
    const td = document.createElement("td");
    td.textContent = text;
    if (kind) td.className = kind;
    line.append(td);
    return td;
  }

  function button(text, isOn, to) {
    const b = document.createElement("button");
    b.textContent = text;
    b.disabled = !isOn;
    b.addEventListener("click", () => { page = to; show(); document.getElementById("all").scrollIntoView(); });
    pages.append(b);
  }

  function found() {
    const words = document.getElementById("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const status = document.getElementById("status").value;
    return rows.filter((r) => {
      if (status && r[2] !== status) return false;
      const full = document.getElementById("e" + r[0]);
      const text = (r[1] + " " + r[3] + " " + r[5] + " " + (full ? full.textContent : r[6])).toLowerCase();
      return words.every((w) => text.includes(w));
    });
  }

  function open(line, r) {
    if (line.nextSibling && line.nextSibling.className === "more") { line.nextSibling.remove(); return; }
    const full = document.querySelector("#e" + r[0] + " .body");
    const more = document.createElement("tr");
    more.className = "more";
    const td = cell(more, "");
    td.colSpan = 6;
    if (full) {
      td.append(full.cloneNode(true));
    } else {
      const answer = document.createElement("div");
      answer.className = "answer " + r[2];
      answer.textContent = r[6];
      td.append(answer);
      if (r[7]) { const plan = document.createElement("pre"); plan.textContent = r[7]; td.append(plan); }
      if (leadsTo) {
        const link = document.createElement("a");
        link.href = leadsTo + r[9];
        link.textContent = "All of it";
        td.append(link);
      }
    }
    line.after(more);
  }

  function show() {
    const hits = found();
    const numbers = new Set(hits.map((r) => r[0]));
    for (const e of document.querySelectorAll(".episode")) e.hidden = !numbers.has(Number(e.id.slice(1)));
    for (const c of document.querySelectorAll(".chapter")) c.hidden = hits.length < rows.length && !c.querySelector(".episode:not([hidden])");
    document.getElementById("count").textContent =
      hits.length === rows.length ? "" : hits.length.toLocaleString("en") + " of " + rows.length.toLocaleString("en");
    if (!body) return;
    page = Math.min(page, Math.max(0, Math.ceil(hits.length / PAGE) - 1));
    body.replaceChildren();
    for (const r of hits.slice(page * PAGE, (page + 1) * PAGE)) {
      const line = document.createElement("tr");
      line.tabIndex = 0;
      cell(line, r[0], "number");
      cell(line, r[8], "quiet");
      cell(line, r[1]);
      cell(line, r[2], "status " + r[2]);
      cell(line, r[5] || r[3].replaceAll(" ", " → "));
      cell(line, Math.round(r[4]).toLocaleString("en"), "number");
      line.addEventListener("click", () => open(line, r));
      line.addEventListener("keydown", (k) => { if (k.key === "Enter") open(line, r); });
      body.append(line);
    }
    pages.replaceChildren();
    button("Earlier", page > 0, page - 1);
    const where = document.createElement("span");
    where.textContent = hits.length ? `${page * PAGE + 1} to ${Math.min((page + 1) * PAGE, hits.length)} of ${hits.length}` : "none match";
    pages.append(where);
    button("Later", (page + 1) * PAGE < hits.length, page + 1);
  }

  if (body) {
    document.getElementById("table").hidden = false;
    document.getElementById("episodes").hidden = true;
  }
  if (form) {
    form.hidden = false;
    form.addEventListener("input", () => { page = 0; show(); });
    form.addEventListener("submit", (e) => e.preventDefault());
    show();
  }

  // On paper everything is open, within reason; afterwards it is as it was.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    if (opened.length > 600) opened = [];
    for (const d of opened) d.open = true;
  });
  addEventListener("afterprint", () => { for (const d of opened) d.open = false; });
})();
