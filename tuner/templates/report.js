// Comfort only: the page says everything without it.
(function () {
  "use strict";
  var root = document.documentElement;
  var themes = ["auto", "light", "dark"];
  var button = document.createElement("button");
  button.type = "button";
  button.className = "theme";
  function show(theme) {
    if (theme === "auto") { root.removeAttribute("data-theme"); } else { root.setAttribute("data-theme", theme); }
    button.textContent = "Theme: " + theme;
    button.dataset.theme = theme;
  }
  button.addEventListener("click", function () {
    show(themes[(themes.indexOf(button.dataset.theme) + 1) % themes.length]);
  });
  show(root.getAttribute("data-theme") || "auto");
  document.querySelector("header").prepend(button);

  var UNITS = { B: 1, KiB: 1024, MiB: 1048576, GiB: 1073741824, ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1 };
  function key(cell) {
    if (!cell) { return ""; }
    var text = (cell.dataset.v || cell.textContent).trim();
    var parts = /^<?(-?[\d.]+(?:e-?\d+)?)\s*([^\s\[*]*)/.exec(text);
    return parts ? parseFloat(parts[1]) * (UNITS[parts[2]] || 1) : text.toLowerCase();
  }
  document.querySelectorAll("table.sortable").forEach(function (table) {
    var heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      var sorter = document.createElement("button");
      sorter.type = "button";
      while (head.firstChild) { sorter.append(head.firstChild); }
      head.append(sorter);
      sorter.addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var body = table.tBodies[0];
        var rows = Array.from(body.rows).map(function (row) { return { row: row, key: key(row.cells[column]) }; });
        rows.sort(function (a, b) {
          var order = typeof a.key === "number" && typeof b.key === "number"
            ? a.key - b.key
            : String(a.key).localeCompare(String(b.key), undefined, { numeric: true });
          return down ? -order : order;
        });
        rows.forEach(function (entry) { body.append(entry.row); });
      });
    });
  });

  var opened = [];
  window.addEventListener("beforeprint", function () {
    opened = Array.from(document.querySelectorAll("details:not([open])"));
    opened.forEach(function (details) { details.open = true; });
  });
  window.addEventListener("afterprint", function () {
    opened.forEach(function (details) { details.open = false; });
  });
})();
