// Plotly's script is compressed in the page, a third of its size; this makes it a script again.
window.unpacked = (async () => {
  const text = document.getElementById("plotly").textContent;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(plain).text();
  document.head.append(script);
})();
