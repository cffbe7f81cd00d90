// Moves along the frontier. All texts and places are made in Python; this only puts those of one point on the page.
(function () {
  "use strict";
  var explore = document.getElementById("explore");
  if (!explore) return;
  var points = JSON.parse(document.getElementById("points").textContent);
  var slider = document.getElementById("slider");
  var said = document.getElementById("said");
  var ring = document.getElementById("ring");
  var cells = explore.querySelectorAll("[data-cell]");
  var chosen = Number(slider.value);

  function show(place) {
    var point = points[place].split("\t"); // what to say, where the ring is, then every cell
    slider.value = String(place);
    slider.setAttribute("aria-valuetext", point[0]);
    said.textContent = point[0];
    ring.setAttribute("transform", "translate(" + point[1] + ")");
    cells.forEach(function (cell, i) { cell.textContent = point[i + 2]; });
  }

  slider.addEventListener("input", function () { show(Number(slider.value)); });
  explore.querySelectorAll("button").forEach(function (button) {
    button.addEventListener("click", function () { show(Number(button.value)); });
  });
  // paper shows the chosen thresholds, whatever was last looked at
  var looked = chosen;
  window.addEventListener("beforeprint", function () { looked = Number(slider.value); show(chosen); });
  window.addEventListener("afterprint", function () { show(looked); });

  document.documentElement.classList.add("alive");
  show(chosen);
})();
