// Search over all pages without a server; the menu of a narrow window; buttons that copy code.
"use strict";
const root = document.body.dataset.root;
const box = document.getElementById("search");
const found = document.getElementById("found");
const fold = (text) => text.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");

/** Sections that hold every word, those that name it in a heading first. */
function search(query) {
  const words = fold(query).split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const results = [];
  for (const [url, title, heading, folded, text] of window.searchable) {
    if (!words.every((word) => folded.includes(word))) continue;
    const head = fold(`${title} ${heading}`);
    let score = 0;
    for (const word of words) {
      if (head.includes(word)) score += 10;
      score += Math.min(5, folded.split(word).length - 1);
    }
    if (!url.includes("#")) score += 3;
    if (url.startsWith("experiments/") || url.startsWith("changelog")) score -= 8;
    results.push({ url, title, heading, text, score });
  }
  return results.sort((a, b) => b.score - a.score).slice(0, 20);
}

function excerpt(text, words) {
  const at = Math.max(0, Math.min(...words.map((word) => fold(text).indexOf(word)).filter((i) => i >= 0), 400) - 60);
  return (at && at < 340 ? "… " : "") + text.slice(at < 340 ? at : 0).slice(0, 160);
}

function show() {
  const query = box.value.trim();
  found.replaceChildren();
  found.hidden = !query;
  if (!query) return;
  const words = fold(query).split(/\s+/).filter(Boolean);
  const results = search(query);
  for (const { url, title, heading, text } of results) {
    const link = document.createElement("a");
    link.href = root + url;
    const name = document.createElement("b");
    name.textContent = heading === title ? title : `${title}: ${heading}`;
    const rest = document.createElement("small");
    rest.textContent = excerpt(text, words);
    link.append(name, rest);
    found.append(link);
  }
  if (!results.length) {
    const nothing = document.createElement("p");
    nothing.textContent = `Nothing holds “${query}”.`;
    found.append(nothing);
  }
}

box.addEventListener("input", show);
box.addEventListener("focus", show);
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key === "/" && !typing) {
    event.preventDefault();
    box.focus();
  } else if (event.key === "Escape") {
    found.hidden = true;
    box.blur();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !found.hidden) {
    const links = [box, ...found.querySelectorAll("a")];
    const next = links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    if (links[next]) {
      event.preventDefault();
      links[next].focus();
    }
  } else if (event.key === "Enter" && document.activeElement === box) {
    found.querySelector("a")?.click();
  }
});
document.addEventListener("click", (event) => {
  if (!found.contains(event.target) && event.target !== box) found.hidden = true;
  else if (event.target.closest("#found a")) found.hidden = true;
});

const menu = document.getElementById("menu");
menu.addEventListener("click", () => {
  const open = document.getElementById("nav").classList.toggle("open");
  menu.setAttribute("aria-expanded", String(open));
});

for (const code of document.querySelectorAll("pre.bash, pre.python, pre.rust, pre.toml, pre.console")) {
  const button = document.createElement("button");
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const text = code.querySelector("code").textContent;
    const lines = text.split("\n").filter((line) => line.startsWith("$ "));
    await navigator.clipboard.writeText(code.classList.contains("console") ? lines.map((line) => line.slice(2)).join("\n") : text);
    button.textContent = "Copied";
  });
  code.append(button);
}
