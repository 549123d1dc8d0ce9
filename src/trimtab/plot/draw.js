// Draws every figure of a page, in the colours of the screen or of paper, and again when they change.
(() => {
  const config = /*CONFIG*/{};
  const counterparts = /*DARK*/{};
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paper = matchMedia("print");
  const PAPER_WIDTH = 680; // pixels of A4 within its margins

  const exchanged = (part) => {
    if (typeof part === "string") return counterparts[part] ?? part;
    if (Array.isArray(part)) return part.map(exchanged);
    if (part === null || typeof part !== "object") return part;
    return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, exchanged(value)]));
  };

  const draw = (place) => {
    const plain = JSON.parse(place.nextElementSibling.textContent);
    const { data, layout } = dark.matches && !paper.matches ? exchanged(plain) : plain;
    if (paper.matches) layout.width = Math.min(PAPER_WIDTH, place.clientWidth || PAPER_WIDTH);
    return Plotly.react(place, data, layout, config).then(() => {
      // The group around them has the words; the drawing itself has none to read out.
      place.querySelectorAll("svg").forEach((svg) => svg.setAttribute("aria-hidden", "true"));
    });
  };

  const drawAll = () =>
    Promise.all([...document.querySelectorAll(".drawn")].map(draw)).then(() => {
      document.getElementById("js-plotly-tester")?.setAttribute("aria-hidden", "true");
    });
  window.trimtab = { draw, drawAll };

  const words = () => { // a browser from before 2023 cannot unpack plotly's script
    document.querySelectorAll(".drawn").forEach((place) => {
      place.textContent = place.getAttribute("aria-label");
      place.style.minHeight = "0";
    });
    document.documentElement.dataset.drawn = "no";
  };
  const done = () => { document.documentElement.dataset.drawn = "yes"; };
  Promise.resolve(window.unpacked).then(() => drawAll().then(done), words);
  dark.addEventListener("change", drawAll);
  paper.addEventListener("change", drawAll);
})();
