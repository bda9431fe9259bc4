"use strict";
// Every page works without this file; it saves clicks, asks before it is too late and keeps
// the dashboard alive.
(() => {
  const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";
  const base = meta("base-path");
  const place = document.getElementById("message");
  document.documentElement.classList.add("scripted");
  // A page that shows something once must not be asked for again with the form that made it.
  if (document.querySelector("[data-once]")) history.replaceState(null, "", location.href);

  function tell(level, text) {
    if (!place) return;
    const box = document.createElement("div");
    box.className = `message ${level}`;
    const line = document.createElement("p");
    line.textContent = text;
    box.append(line);
    place.replaceChildren(box);
  }

  // Ask once before anything that cannot be taken back.
  function ask(question, action) {
    return new Promise((resolve) => {
      const dialog = document.createElement("dialog");
      dialog.setAttribute("aria-label", "Please confirm");
      const text = document.createElement("p");
      text.textContent = question;
      const row = document.createElement("div");
      row.className = "form-row";
      const no = document.createElement("button");
      no.type = "button";
      no.textContent = "Cancel";
      const yes = document.createElement("button");
      yes.type = "button";
      yes.className = "danger";
      yes.textContent = action || "Continue";
      row.append(no, yes);
      dialog.append(text, row);
      document.body.append(dialog);
      const end = (answer) => {
        dialog.close();
        dialog.remove();
        resolve(answer);
      };
      no.addEventListener("click", () => end(false));
      yes.addEventListener("click", () => end(true));
      dialog.addEventListener("cancel", () => end(false));
      dialog.showModal();
      no.focus();
    });
  }

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const asking = event.submitter?.dataset.confirm ? event.submitter : form;
    if (!asking.dataset.confirm || form.dataset.confirmed) return;
    event.preventDefault();
    if (!(await ask(asking.dataset.confirm, asking.dataset.confirmAction))) return;
    const hidden = document.createElement("input");
    hidden.type = "hidden";
    hidden.name = "confirm";
    hidden.value = "yes";
    form.append(hidden);
    form.dataset.confirmed = "yes";
    form.requestSubmit(event.submitter ?? undefined);
    // Whoever comes back to this page is asked again.
    hidden.remove();
    delete form.dataset.confirmed;
  });

  document.addEventListener("click", async (event) => {
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      const source = document.querySelector(copy.dataset.copy);
      const text = source.value ?? source.textContent;
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        source.focus();
        source.select?.();
        document.execCommand("copy");
      }
      copy.querySelector("[data-copy-label]").textContent = "Copied";
    }
    const button = event.target.closest("[data-move], [data-remove-row], [data-add-row]");
    if (button) {
      event.preventDefault();
      arrange(button);
    }
  });

  // Rows of a list: moved, removed and added in place; nothing is saved by an empty one.
  function arrange(button) {
    const list = (button.closest("[data-rows]") ?? button.previousElementSibling);
    const item = button.closest("li") ?? list.lastElementChild;
    const isBlank = (row) => [...row.querySelectorAll("input, select")].every((field) => !field.value);
    let changed = item;
    if (button.dataset.move) {
      const up = button.dataset.move === "up";
      const other = up ? item.previousElementSibling : item.nextElementSibling;
      if (!other) return;
      if (up) other.before(item);
      else other.after(item);
      changed = isBlank(item) || isBlank(other) ? null : item;
    } else if (button.hasAttribute("data-remove-row")) {
      changed = isBlank(item) ? null : list;
      if (list.children.length > 1) item.remove();
      else for (const field of item.querySelectorAll("input, select")) field.value = "";
    } else {
      const fresh = item.cloneNode(true);
      for (const field of fresh.querySelectorAll("input, select")) field.value = "";
      list.append(fresh);
      changed = null;
    }
    number(list);
    if (button.isConnected && !button.disabled && button.closest("li")) button.focus();
    else list.querySelector("li:last-child input, li:last-child select")?.focus();
    changed?.dispatchEvent(new Event("change", { bubbles: true }));
  }

  function number(list) {
    const rows = [...list.children];
    rows.forEach((row, index) => {
      for (const field of row.querySelectorAll("[aria-label]")) {
        field.setAttribute("aria-label", field.getAttribute("aria-label").replace(/\d+$/, index + 1));
      }
      for (const mover of row.querySelectorAll("[data-move]")) {
        mover.disabled = mover.dataset.move === "up" ? index === 0 : index === rows.length - 1;
      }
    });
  }

  document.addEventListener("change", (event) => {
    const all = event.target.closest("[data-check-all]");
    if (all) {
      for (const box of document.querySelectorAll(all.dataset.checkAll)) box.checked = all.checked;
    }
    const jump = event.target.closest("[data-submit-on-change]");
    if (jump) jump.form.requestSubmit();
    const saving = event.target.closest("form[data-autosave]");
    if (saving && !event.target.closest("[data-no-autosave]")) saveNext(saving);
  });

  // What waits for a click says so.
  for (const kind of ["input", "change"]) {
    document.addEventListener(kind, (event) => {
      const form = event.target.closest("form[data-settings]:not([data-autosave])");
      const state = form?.querySelector("[data-save-state]");
      if (!state) return;
      form.classList.add("dirty");
      state.textContent = "Not saved yet";
    });
  }

  // Settings are saved where they stand; buttons marked plain go the long way round.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.hasAttribute("data-settings") || event.submitter?.hasAttribute("data-plain")) return;
    event.preventDefault();
    saveNext(form);
  });

  // A double click is one click: what is on its way is not sent again.
  let sent = null;
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    const pressed = event.submitter ?? form;
    if (sent === pressed) event.preventDefault();
    sent = pressed;
    setTimeout(() => { sent = null; }, 5000);
  });
  window.addEventListener("pageshow", () => { sent = null; });

  // One save after the other: each begins with the version the one before has left.
  let saves = Promise.resolve();
  function saveNext(form) {
    if (!form.reportValidity()) {
      const wrong = form.querySelector("input:invalid, select:invalid");
      const path = wrong.closest(".setting")?.querySelector("[data-error]")?.dataset.error;
      const words = wrong.validationMessage;
      return failed(form, `Not saved: ${sentence(words)}`, path ? { [path]: words } : {});
    }
    const state = form.querySelector("[data-save-state]");
    if (state) state.textContent = "Saving …";
    saves = saves.then(() => save(form, "")).catch(() => failed(form, "Not saved: something broke here.", {}));
  }

  async function save(form, confirmed) {
    const fields = new URLSearchParams(new FormData(form));
    if (confirmed) fields.set("confirm", confirmed);
    let answer, body;
    try {
      answer = await fetch(form.action, {
        method: "POST",
        body: fields,
        headers: { Accept: "application/json", "X-Requested-With": "lyrsvc", "X-CSRF-Token": meta("csrf-token") },
        redirect: "error",
      });
      body = await answer.json();
    } catch {
      return failed(form, "Not saved: the service did not answer.", {});
    }
    if (answer.status === 409 && body.error === "confirmation_required" && !confirmed) {
      if (await ask(sentence(body.detail), "Save")) return save(form, "yes");
      return failed(form, "Not saved.", {});
    }
    if (answer.status === 401) {
      return failed(form, "Not saved: you are no longer signed in. Load the page again to sign in.", {});
    }
    if (!answer.ok || !Array.isArray(body.saved)) {
      const here = new Set([...form.querySelectorAll("[data-error]")].map((note) => note.dataset.error));
      const told = ([path, text]) => (here.has(path) || !path ? sentence(text) : `${path}: ${text}.`);
      const faults = Object.entries(body.fields ?? {}).map(told).join(" ");
      return failed(form, `Not saved: ${faults || sentence(body.detail || "unknown answer")}`, body.fields ?? {});
    }
    mark(form, {});
    form.classList.remove("dirty");
    const state = form.querySelector("[data-save-state]");
    const waits = body.saved.some((path) => (body.restart_pending ?? []).includes(path));
    const words = !body.saved.length ? "Nothing was changed" : waits ? "Saved, restart to apply" : "Saved";
    if (state) state.textContent = body.saved.length ? "Saved" : words;
    tell(body.saved.length ? "ok" : "info", `${words}.`);
    for (const field of document.querySelectorAll('input[name="version"]')) field.value = body.version;
    for (const field of form.querySelectorAll("[data-forget]")) field.value = "";
    await freshen();
  }

  function failed(form, text, faults) {
    mark(form, faults);
    form.classList.add("wrong");
    const state = form.querySelector("[data-save-state]");
    if (state) state.textContent = "Not saved";
    tell("error", text);
  }

  // Each fault stands under the setting it is about; controls name its place already.
  function mark(form, faults) {
    form.classList.remove("wrong");
    for (const note of form.querySelectorAll("[data-error]")) {
      const fault = faults[note.dataset.error];
      note.hidden = !fault;
      note.textContent = fault ? sentence(fault) : "";
      const row = note.closest(".setting");
      row?.classList.toggle("wrong", Boolean(fault));
      for (const field of row?.querySelectorAll("[aria-describedby]") ?? []) {
        if (fault) field.setAttribute("aria-invalid", "true");
        else field.removeAttribute("aria-invalid");
      }
    }
  }

  // What a save changes elsewhere on the page: marks of a restart, where a secret is kept.
  async function freshen() {
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "error" });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-fresh]")) {
        const other = page.getElementById(part.id);
        if (other && other.innerHTML !== part.innerHTML) part.innerHTML = other.innerHTML;
      }
    } catch {
      /* the marks are right again when the page is loaded */
    }
  }

  // A setting's name at the start stays as it is.
  function sentence(text) {
    const isName = text.split(" ", 1)[0].replace(/\.$/, "").includes(".");
    const whole = isName ? text : text.charAt(0).toUpperCase() + text.slice(1);
    return /[.!?]$/.test(whole) ? whole : `${whole}.`;
  }

  // Live pages: regions are fetched anew when the service says that something changed.
  const regions = document.querySelectorAll("[data-region]");
  if (regions.length) {
    const SIGNED_OUT = "You are no longer signed in, so this page stands still. Load it again to sign in.";
    let waiting = false, missed = false, held = false, failures = 0, source = null, poll = 0;
    async function refresh() {
      if (document.hidden) return;
      missed = waiting;
      if (waiting) return;
      waiting = true;
      held = false;
      try {
        const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "manual" });
        const isOut = answer.type === "opaqueredirect", isTold = place?.textContent === SIGNED_OUT;
        if (isOut && !isTold) tell("warning", SIGNED_OUT);
        if (!isOut && isTold) place.replaceChildren();
        if (answer.ok) {
          const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
          for (const region of document.querySelectorAll("[data-region]")) {
            const other = fresh.querySelector(`[data-region="${region.dataset.region}"]`);
            if (!other) continue;
            unfold(region, other);
            if (other.innerHTML === region.innerHTML) continue;
            if (!replaced(region, other)) held = true;
          }
        }
      } catch {
        /* the next event tries again */
      }
      // What happened since it was asked for may be the last that happens.
      setTimeout(() => {
        waiting = false;
        if (missed) refresh();
      }, 1000);
    }
    // A link that has the focus keeps it; what somebody writes in or may press is left alone.
    function replaced(region, other) {
      const active = region.contains(document.activeElement) ? document.activeElement : null;
      if (!active) region.innerHTML = other.innerHTML;
      else if (!active.matches("a[href]")) return false;
      else if (isAlike(region, other)) rewrite(region, other);
      else {
        const twins = (part) => [...part.querySelectorAll("a")].filter((link) => link.href === active.href);
        const place = twins(region).indexOf(active);
        if (!twins(other)[place]) return false;
        region.innerHTML = other.innerHTML;
        twins(region)[place].focus({ preventScroll: true });
      }
      return true;
    }
    // The same elements in the same order, leading to the same pages.
    function isAlike(mine, theirs) {
      return mine.nodeName === theirs.nodeName && mine.childNodes.length === theirs.childNodes.length
        && mine.getAttribute?.("href") === theirs.getAttribute?.("href")
        && [...mine.childNodes].every((child, index) => isAlike(child, theirs.childNodes[index]));
    }
    function rewrite(mine, theirs) {
      if (mine.nodeType === Node.TEXT_NODE && mine.data !== theirs.data) mine.data = theirs.data;
      for (const { name, value } of theirs.attributes ?? []) {
        if (mine.getAttribute(name) !== value) mine.setAttribute(name, value);
      }
      for (const name of mine.getAttributeNames?.() ?? []) {
        if (!theirs.hasAttribute(name)) mine.removeAttribute(name);
      }
      mine.childNodes.forEach((child, index) => rewrite(child, theirs.childNodes[index]));
    }
    // What the reader has unfolded stays so.
    function unfold(region, other) {
      const theirs = other.querySelectorAll("details");
      region.querySelectorAll("details").forEach((part, index) => theirs[index]?.toggleAttribute("open", part.open));
    }
    let due = 0;
    function soon() {
      if (!due) due = setTimeout(() => { due = 0; refresh(); }, 500);
    }
    function listen() {
      if (source || poll || document.hidden) return;
      source = new EventSource(`${base}/api/v1/events`);
      for (const kind of ["queue", "outcome", "lane", "scan", "task", "health", "reset"]) {
        source.addEventListener(kind, () => { failures = 0; soon(); });
      }
      source.addEventListener("error", () => {
        failures += 1;
        const over = source.readyState === EventSource.CLOSED; // refused: the browser does not try again
        if (failures < 2 && !over) return;
        source.close();
        source = null;
        if (failures < 2) setTimeout(listen, 5000);
        else poll = setInterval(refresh, 10000);
      });
    }
    document.addEventListener("focusout", () => { if (held) soon(); });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) {
        source?.close();
        source = null;
      } else {
        refresh();
        listen();
      }
    });
    listen();
  }
})();
