(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const FIRST = 50;
  const WIDEST = 60;

  /* Everything that comes from the data becomes text, never markup. */
  const make = (tag, options, ...inside) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(options || {})) {
      if (value !== undefined && value !== "") made.setAttribute(name, value);
    }
    made.append(...inside);
    return made;
  };
  const say = (text) => { byId("said").textContent = text; };
  const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

  /* A list that shows more of its items when asked: twice as many each time. */
  const grower = (box, button, draw, noun) => {
    let items = [], shown = 0, step = FIRST;
    const add = (count) => {
      const part = items.slice(shown, shown + count);
      shown += part.length;
      const drawn = part.map(draw);
      box.append(...drawn.flat());
      const rest = items.length - shown;
      button.hidden = rest === 0;
      button.textContent = `Show ${Math.min(step, rest)} more of ${plural(rest, noun)} not shown`;
      return drawn.flat()[0];
    };
    button.addEventListener("click", () => {
      step *= 2;
      const first = add(step / 2);
      if (first) { first.tabIndex = -1; first.focus(); }
    });
    addEventListener("beforeprint", () => { if (items.length - shown <= 2000) add(items.length); });
    return (found) => {
      items = found; shown = 0; step = FIRST;
      box.replaceChildren();
      add(FIRST);
    };
  };

  /* The theme: the system's, or the reader's choice. */
  const themes = ["", "dark", "light"];
  const theme = byId("theme");
  const wear = (name) => {
    if (name) document.documentElement.dataset.theme = name;
    else delete document.documentElement.dataset.theme;
    theme.textContent = `Theme: ${name || "as the system"}`;
  };
  let worn = "";
  try { worn = localStorage.getItem("pinguard-theme") || ""; } catch { /* No storage here. */ }
  if (!themes.includes(worn)) worn = "";
  wear(worn);
  theme.hidden = false;
  theme.addEventListener("click", () => {
    worn = themes[(themes.indexOf(worn) + 1) % themes.length];
    wear(worn);
    try { localStorage.setItem("pinguard-theme", worn); } catch { /* As above. */ }
  });

  /* Copying. */
  const copy = async (text, what) => {
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = make("textarea", { "aria-hidden": "true" });
      area.value = text;
      const last = document.activeElement;
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
      if (last) last.focus();
    }
    say(done ? `${what} copied` : `${what} could not be copied: select the text and copy it`);
    return done;
  };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".copy");
    if (!button) return;
    const done = await copy(button.parentElement.querySelector("pre").textContent, "Text");
    button.textContent = done ? "Copied" : "Not copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });

  /* What is narrowed: classes by a host's name (null: all), and names of flavors or guests. */
  const value = (id) => (byId(id) ? byId(id).value.trim().toLowerCase() : "");
  const lower = data.classes.map((each) => each.names.map((name) => name.toLowerCase()));
  let classes = null, wanted = "";
  const narrow = () => {
    const host = value("host");
    wanted = value("name");
    classes = host
      ? new Set(lower.flatMap((names, index) => (names.some((name) => name.includes(host)) ? [index] : [])))
      : null;
  };
  /* What is about no host is about any, and likewise with names. */
  const ofHosts = (places) => classes === null || !places.length || places.some((place) => classes.has(place));
  const named = (names) => !wanted || !names.length || names.some((name) => name.toLowerCase().includes(wanted));

  const redraw = [];
  const label = (place) => data.classes[place].label;
  const many = (places, most = 12) => {
    const shown = places.slice(0, most).map(label).join(", ");
    return places.length > most ? `${shown} and ${places.length - most} more` : shown;
  };

  /* Flavors on hosts. */
  if (data.matrices.length) {
    let matrix = data.matrices[0], columns = [];
    const table = byId("matrix");
    const cellsOf = (row) => columns.map(([, index]) => matrix.cells[row.cells[index]]);
    const reasons = (row) => {
      const found = new Map();
      for (const [places, index] of columns) {
        const cell = matrix.cells[row.cells[index]];
        const text = cell.why + (cell.kind === "refused" ? "" : `, takes ${cell.text}`);
        found.set(text, [...(found.get(text) || []), ...places]);
      }
      return make("ul", {}, ...[...found].map(([text, places]) => {
        const hosts = places.length <= 3
          ? places.map((place) => `${label(place)} (${data.classes[place].hosts})`).join(", ")
          : many(places);
        return make("li", {}, `${hosts}: ${text}`);
      }));
    };
    const line = (row) => {
      const names = row.names;
      const title = names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
      const button = make("button", { type: "button", class: "open", "aria-expanded": "false" }, title);
      const drawn = make("tr", {}, make("th", { scope: "row" }, button),
        ...cellsOf(row).map((cell) => make("td", { class: cell.kind, title: cell.why }, cell.text)));
      button.addEventListener("click", () => {
        const open = button.getAttribute("aria-expanded") === "true";
        button.setAttribute("aria-expanded", String(!open));
        if (open) { drawn.nextSibling.remove(); return; }
        const cell = make("td", { colspan: columns.length + 1 }, reasons(row));
        if (names.length > 3) cell.prepend(make("p", {}, names.join(", ")));
        drawn.after(make("tr", { class: "why" }, cell));
      });
      return drawn;
    };
    const fill = grower(table.tBodies[0], byId("matrix-more"), line, "row");
    const draw = () => {
      const matching = matrix.columns.map((places, index) => [places, index]).filter(([places]) => ofHosts(places));
      columns = matching.slice(0, WIDEST);
      table.tHead.replaceChildren(make("tr", {}, make("th", { scope: "col" }, "flavor"),
        ...columns.map(([places]) => make("th", {
          scope: "col", title: places.map((place) => data.classes[place].hosts).slice(0, 8).join("; "),
        }, many(places, 3)))));
      const left = matching.length - columns.length + matrix.left_out;
      table.setAttribute("aria-label", `Flavors on hosts, ${matrix.label}`);
      byId("columns").textContent = left ? `${plural(left, "more column")} not shown: narrow the report by a host.` : "";
      fill(matrix.rows.filter((row) => named(row.names)));
    };
    for (const choice of document.querySelectorAll("[name=matrix]")) {
      choice.addEventListener("change", () => { matrix = data.matrices[choice.value]; draw(); });
    }
    redraw.push(draw);
    byId("flavors").hidden = false;
  }

  /* Plain tables. */
  const plain = (id, rows, cells) => {
    const section = byId(id);
    if (!section) return;
    section.hidden = false;
    const draw = (row) => make("tr", {}, ...cells(row).map((cell, index) =>
      make(index ? "td" : "th", index ? {} : { scope: "row" }, cell)));
    const fill = grower(section.querySelector("tbody"), section.querySelector(".more"), draw, "row");
    redraw.push(() => fill(rows()));
  };
  for (const table of data.tables) {
    plain(table.id, () => table.rows.filter((row) => ofHosts(row.classes) && named(row.names)), (row) => row.cells);
  }
  plain("hosts", () => data.classes.filter((_, index) => ofHosts([index])), (each) => [
    each.label, each.hosts, each.release, each.kind, each.shared, each.dedicated, each.fault || "starts"]);

  /* Maps, steps and emulator threads. */
  redraw.push(() => {
    for (const part of document.querySelectorAll("[data-classes]")) {
      const names = JSON.parse(part.dataset.names || "[]");
      part.hidden = !ofHosts(part.dataset.classes.split(" ").map(Number)) || !named(names);
    }
  });

  /* Findings. */
  if (byId("findings")) {
    const text = (each) => (each.found ??= [each.code, each.title, each.what, each.effect, each.fix, each.hosts,
      each.standing, ...each.subjects, ...each.where].join("\n").toLowerCase());
    const line = (each) => {
      const badges = [make("span", { class: `badge ${each.severity}` }, each.severity)];
      if (each.when) badges.push(make("span", { class: "badge plain" }, `new ${each.when}`));
      if (each.standing) badges.push(make("span", { class: "badge plain" }, each.standing.split(" ")[0]));
      const parts = [];
      const part = (name, ...inside) => parts.push(make("dt", {}, name), make("dd", {}, ...inside));
      if (each.subjects.length) {
        const names = each.subjects.slice(0, 12).join(", ");
        part(each.kind, each.subjects.length > 12 ? `${names}, ... (${each.subjects.length})` : names);
      }
      if (each.hosts) part("on", each.hosts, data.lettered && each.classes.length && data.classes.length > 1 ? ` [${many(each.classes)}]` : "");
      part("what", each.what);
      part("then", each.effect);
      if (each.fix) {
        part("fix", make("div", { class: "code" },
          make("pre", { tabindex: "0", "aria-label": `Fix of ${each.code}` }, each.fix),
          make("button", { type: "button", class: "copy", "aria-label": `Copy the fix of ${each.code}` }, "Copy")));
      }
      if (each.where.length) part("see", each.where.slice(0, 3).join(", ") + (each.where.length > 3 ? ", ..." : ""));
      if (each.standing) part("stands", each.standing);
      return make("li", { class: each.severity + (each.standing ? " excused" : "") },
        make("h3", {}, ...badges, make("span", {}, `${each.code}: ${each.title}`)), make("dl", {}, ...parts));
    };
    /* The names that the field of the page's subject is about; guests stand with their kind. */
    const guest = /^(guest|server|consumer) /;
    const names = data.subject === "flavor"
      ? (each) => (each.kind === "flavor" ? each.subjects : [])
      : (each) => (each.kind === "of" ? each.subjects.filter((name) => guest.test(name)) : []);
    const fill = grower(byId("list"), byId("list-more"), line, "finding");
    let found = [];
    const draw = () => {
      const severities = new Set([...document.querySelectorAll("[name=severity]:checked")].map((box) => box.value));
      const rule = byId("rule").value, words = value("text"), waived = value("waived"), when = value("when");
      found = data.findings.filter((each) =>
        severities.has(each.severity)
        && (!rule || each.code === rule)
        && ofHosts(each.classes)
        && named(names(each))
        && (!waived || Boolean(each.standing) === (waived === "yes"))
        && (!when || Boolean(each.when) === (when === "then"))
        && (!words || text(each).includes(words)));
      byId("count").textContent = `${found.length} of ${plural(data.findings.length, "finding")}; equal ones are one.`;
      fill(found);
    };
    redraw.push(draw);
    const form = byId("filters");
    form.addEventListener("input", draw);
    form.addEventListener("reset", () => setTimeout(draw));
    form.addEventListener("submit", (event) => event.preventDefault());
    byId("copy-all").addEventListener("click", () => copy(
      found.filter((each) => each.fix).map((each) => {
        const about = [each.subjects.slice(0, 3).join(", "), each.hosts].filter(Boolean).join("; ");
        return `# ${each.code} ${about}`.replaceAll("\n", " ") + `\n${each.fix}\n`;
      }).join("\n"), plural(found.length, "fix").replace("fixs", "fixes")));
    byId("findings").hidden = false;
  }

  const all = () => { narrow(); for (const each of redraw) each(); };
  const form = byId("narrow");
  if (form) {
    let timer = 0;
    const told = () => {
      byId("narrowed").textContent = classes === null ? "" : `${plural(classes.size, "class").replace("classs", "classes")} of hosts match.`;
    };
    form.hidden = false;
    form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => { all(); told(); }, 120); });
    form.addEventListener("reset", () => setTimeout(() => { all(); told(); }));
    form.addEventListener("submit", (event) => event.preventDefault());
  }
  all();
})();
