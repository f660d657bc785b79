"use strict";
// Plots are painted with the page's own colours, by the role of each trace.
const dark = matchMedia("(prefers-color-scheme: dark)");
const coarse = matchMedia("(pointer: coarse)");

function readColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

function paint(figure) {
  const [ink, quiet, line, paper] = ["ink", "quiet", "line", "paper"].map(readColour);
  const font = { family: "system-ui, sans-serif", size: 12, color: quiet };
  const layout = {
    ...figure.layout, font, autosize: true,
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    hoverlabel: { bgcolor: paper, bordercolor: line, font: { ...font, color: ink } },
    dragmode: coarse.matches ? false : "zoom",
  };
  for (const key of Object.keys(layout)) {
    if (/^[xy]axis\d*$/.test(key)) {
      layout[key] = { ...layout[key], gridcolor: line, zerolinecolor: line, linecolor: line };
    }
  }
  layout.annotations = (layout.annotations || []).map(
    (note) => ({ ...note, font: { ...note.font, color: ink } }));
  const data = figure.data.map((trace) => {
    const colour = readColour(trace.meta);
    const painted = { ...trace, marker: { ...trace.marker, color: colour } };
    if (trace.type === "scatter") {
      painted.line = { ...trace.line, color: colour };
      painted.fillcolor = colour + "22";
    }
    return painted;
  });
  return [data, layout];
}

function draw(place) {
  const figure = JSON.parse(place.nextElementSibling.textContent);
  Plotly.react(place, ...paint(figure), { responsive: true, displayModeBar: false });
}

function drawVisible() {
  for (const place of document.querySelectorAll(".plot")) {
    const around = place.closest("details");
    if (!around || around.open) draw(place);
  }
}

for (const around of document.querySelectorAll("details")) {
  around.addEventListener("toggle", () => {
    if (around.open) around.querySelectorAll(".plot").forEach(draw);
  });
}
dark.addEventListener("change", drawVisible);
addEventListener("beforeprint", () => {
  document.documentElement.dataset.theme = "light";
  document.querySelectorAll("details").forEach((around) => { around.open = true; });
  drawVisible();
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.theme;
  drawVisible();
});

for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", async () => {
    const block = button.parentElement.querySelector("pre");
    try {
      await navigator.clipboard.writeText(block.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    } catch {
      getSelection().selectAllChildren(block);
    }
  });
}
drawVisible();
