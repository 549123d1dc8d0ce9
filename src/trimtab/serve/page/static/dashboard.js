// Keeps a page up to date, and sends what an operator orders. The server renders everything.
(() => {
  const main = document.getElementById("main");
  const live = document.getElementById("live");
  const toast = document.getElementById("toast");
  const csrf = main.dataset.csrf;
  const CALM = 250; // milliseconds in which several events are one refresh
  const LATER = 3500; // milliseconds without events, after which figures are up to date

  const say = (text) => {
    toast.textContent = text;
    clearTimeout(say.timer);
    say.timer = setTimeout(() => { toast.textContent = ""; }, 6000);
  };

  // A drawing stays, with its zoom, and gets new data; the rest of a part is replaced.
  const drawings = (part) => [...part.querySelectorAll(".drawn")];
  const update = (old, fresh) => {
    const kept = drawings(old);
    const next = drawings(fresh);
    if (kept.length && kept.length === next.length) {
      kept.forEach((place, i) => {
        const [mine, theirs] = [place.nextElementSibling, next[i].nextElementSibling];
        if (mine.textContent !== theirs.textContent) {
          mine.textContent = theirs.textContent;
          place.setAttribute("aria-label", next[i].getAttribute("aria-label"));
          window.trimtab.draw(place);
        }
      });
      next.forEach((place, i) => place.closest("figure").replaceWith(kept[i].closest("figure")));
    }
    old.replaceChildren(...fresh.childNodes);
    drawings(old).filter((place) => !place.querySelector("svg")).forEach((place) => window.trimtab.draw(place));
  };

  let shown = {};
  const remember = (page) => {
    page.querySelectorAll("[data-live]").forEach((part) => { shown[part.dataset.live] = part.innerHTML; });
  };

  let waiting = null;
  let again = false;
  const refresh = async () => {
    if (waiting) { again = true; return waiting; }
    waiting = (async () => {
      const answer = await fetch(location.href, { headers: { accept: "text/html" }, redirect: "manual" });
      if (answer.type === "opaqueredirect") { location.href = "/login"; return; }
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const focus = document.activeElement?.dataset?.open;
      page.querySelectorAll("[data-live]").forEach((fresh) => {
        const key = fresh.dataset.live;
        const old = document.querySelector(`[data-live="${CSS.escape(key)}"]`);
        if (old && shown[key] !== fresh.innerHTML) {
          shown[key] = fresh.innerHTML;
          update(old, fresh);
        }
      });
      if (focus) document.querySelector(`[data-open="${CSS.escape(focus)}"]`)?.focus();
    })();
    try { await waiting; } finally { waiting = null; }
    if (again) { again = false; return refresh(); }
  };

  // Figures are made at intervals: once more when everything is calm, for the last of them.
  let timer = null;
  let last = null;
  const soon = () => {
    clearTimeout(timer);
    clearTimeout(last);
    timer = setTimeout(refresh, CALM);
    last = setTimeout(refresh, LATER);
  };

  const listen = () => {
    if (!main.dataset.events || main.dataset.events.endsWith("?")) {
      live.textContent = "nothing to listen to";
      return;
    }
    const stream = new EventSource(main.dataset.events);
    const state = (text, name) => { live.textContent = text; live.className = `live ${name}`; };
    stream.onopen = () => { state("live", "on"); soon(); };
    stream.onerror = () => state("not connected; trying again", "off");
    stream.addEventListener("row", soon);
    stream.addEventListener("change", soon);
    addEventListener("pagehide", () => stream.close());
  };

  const post = (path, body) => {
    const key = [...crypto.getRandomValues(new Uint8Array(16))].map((x) => x.toString(16).padStart(2, "0")).join("");
    const headers = { "content-type": "application/json", "x-csrf-token": csrf, "idempotency-key": key };
    return fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  };

  document.addEventListener("click", (event) => {
    const open = event.target.closest("[data-open]");
    if (open) {
      const dialog = document.getElementById(`dialog-${open.dataset.open}`);
      dialog.querySelector(".fault").textContent = "";
      const which = dialog.querySelector(".which");
      const proposal = document.querySelector(".proposal");
      if (which && proposal) {
        which.textContent = proposal.textContent;
        which.dataset.decision = proposal.dataset.decision;
      }
      dialog.showModal();
    }
    event.target.closest("[data-close]")?.closest("dialog").close();
  });

  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("form[data-action]");
    if (!form) return;
    event.preventDefault();
    const action = form.dataset.action;
    const body = { why: form.elements.why.value };
    const which = form.querySelector(".which");
    if (which) body.decision_id = which.dataset.decision;
    if (action === "override") {
      const fields = [...form.querySelectorAll("[data-knob]")].filter((field) => field.value !== "");
      body.values = Object.fromEntries(fields.map((field) => [field.dataset.knob, Number(field.value)]));
    }
    const button = form.querySelector("[type=submit]");
    const fault = form.querySelector(".fault");
    button.disabled = true;
    try {
      const answer = await post(`/api/v1/tuners/${encodeURIComponent(main.dataset.tuner)}/${action}`, body);
      if (answer.ok) {
        form.reset();
        form.closest("dialog").close();
        say(`${form.querySelector("h2").textContent.replace("?", "")}: done`);
        await refresh();
      } else {
        const problem = await answer.json().catch(() => ({}));
        fault.textContent = problem.detail ?? `the service answered ${answer.status}`;
      }
    } catch {
      fault.textContent = "no answer from the service; the same again has no second effect";
    } finally {
      button.disabled = false;
    }
  });

  document.getElementById("logout")?.addEventListener("click", async () => {
    await post("/logout", {});
    location.href = "/login";
  });

  // The link that is printed at the first start has the token behind its #, which is never sent.
  const field = document.getElementById("token");
  if (field && location.hash.startsWith("#trimtab_")) {
    field.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname);
    field.form.requestSubmit();
  }

  remember(document); // this script runs before anything is drawn
  if (live) listen();
})();
