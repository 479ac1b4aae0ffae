"use strict";
(() => {
  const options = { actions: false, renderer: "svg", tooltip: { theme: "custom" } };

  // Names of rows are broken into lines, for which each row gets more height, and long ones of a legend stand
  // below each other.
  const WRAPPED =
    "split(trim(replace(datum.label, regexp('(.{1,24})(?: |$)|(.{24})', 'g'), '$1$2\\n')), '\\n')";
  const narrow = (spec) => {
    Object.assign(spec.config.axis, { labelLimit: 170, labelFontSize: 10 });
    const layers = [spec, ...(spec.layer ?? [])].map((each) => each.encoding ?? {});
    const rows = layers.filter(({ y }) => y?.type === "nominal");
    for (const { y } of rows) y.axis = { ...y.axis, labelExpr: WRAPPED, labelLineHeight: 11 };
    if (rows.length && typeof spec.height === "number") spec.height *= 1.6;
    const names = layers.flatMap(({ color }) => color?.scale?.domain ?? []).map(String);
    const columns = Math.max(0, ...names.map((each) => each.length)) > 22 ? 1 : 2;
    Object.assign(spec.config.legend, { columns, labelLimit: 300 });
  };

  const draw = (figure) => {
    if (figure.dataset.drawn) return;
    figure.dataset.drawn = "yes";
    const place = figure.querySelector(".drawing");
    const spec = JSON.parse(figure.querySelector("script").textContent);
    if (innerWidth < 640) narrow(spec);
    vegaEmbed(place, spec, options).catch((error) => {
      console.error(error);
      place.textContent = "This chart could not be drawn: " + error.message;
    });
  };

  // Charts in closed sections have no width yet, and there may be many: they are drawn when they are opened.
  for (const figure of document.querySelectorAll("figure.chart")) {
    const section = figure.closest("details");
    if (section === null || section.open) draw(figure);
    else section.addEventListener("toggle", () => { if (section.open) draw(figure); });
  }

  // On narrow screens the cells of a row stand below each other, each with the name of its column.
  for (const table of document.querySelectorAll(".scroll table")) {
    const names = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
    for (const row of table.tBodies[0].rows) {
      let column = 0;
      for (const cell of row.cells) {
        if (cell.tagName === "TD") cell.dataset.label = names[column];
        column += cell.colSpan;
      }
    }
  }

  // A cell may span several columns: the one that covers a column counts.
  const cellAt = (row, column) => {
    let end = 0;
    return [...row.cells].find((cell) => (end += cell.colSpan) > column);
  };
  const key = (cell) => {
    const text = cell.dataset.sort ?? cell.textContent.trim();
    const number = Number(text);
    return text !== "" && Number.isFinite(number) ? number : text;
  };
  const compare = (a, b) => {
    if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
    return typeof a === "number" ? -1 : 1;
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const descending = head.getAttribute("aria-sort") !== "descending";
        for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => [key(cellAt(row, column)), row]);
        rows.sort(([a], [b]) => (descending ? compare(b, a) : compare(a, b)));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  for (const box of document.querySelectorAll("input[data-filters]")) {
    const all = [...document.querySelectorAll(box.dataset.filters)];
    const count = box.closest(".filter").querySelector("output");
    const filter = () => {
      let fits;
      try {
        const wanted = new RegExp(box.value, "i");
        fits = (text) => wanted.test(text);
        box.removeAttribute("aria-invalid");
      } catch {
        fits = (text) => text.includes(box.value);
        box.setAttribute("aria-invalid", "true");
      }
      for (const each of all) each.hidden = !fits(each.dataset.text ?? each.textContent);
      count.textContent = all.filter((each) => !each.hidden).length + " of " + all.length;
    };
    box.addEventListener("input", filter);
    filter();
  }

  for (const block of document.querySelectorAll(".command")) {
    const code = block.querySelector("code");
    const button = block.querySelector("button");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "selected";
      }
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
  }
})();
