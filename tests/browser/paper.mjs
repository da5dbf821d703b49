// Where things are on paper, by the structure that Chromium writes into a tagged PDF: which element is on which page.

/** Headings, paragraphs, pictures and rows of tables of a PDF in reading order, each with its pages, as numbers from 0. */
export function onPaper(pdf) {
  const text = pdf.toString("latin1");
  const objects = new Map([...text.matchAll(/(\d+) 0 obj\n(.*?)\nendobj/gs)].map(([, id, body]) => [id, body]));
  const only = (pattern) => [...objects].filter(([, body]) => pattern.test(body));
  const references = (body) => [...body.matchAll(/(\d+) 0 R/g)].map(([, id]) => id);
  const catalogue = objects.get(text.match(/\/Root (\d+) 0 R/)[1]);
  const inOrder = (id) => {
    const kids = objects.get(id).match(/\/Type \/Pages\b.*?\/Kids \[(.*?)\]/s) ?? objects.get(id).match(/\/Kids \[(.*?)\]/s);
    return kids ? references(kids[1]).flatMap(inOrder) : [id];
  };
  const pages = inOrder(catalogue.match(/\/Pages (\d+) 0 R/)[1]);
  const element = (id) => {
    const body = objects.get(id);
    const kind = body.match(/\n\/S \/(\w+)/)[1];
    const own = body.match(/\/Pg (\d+) 0 R\n\/K/)?.[1];
    const kids = body.match(/\n\/K (\[.*?\]|\d+ 0 R|\d+)/s)?.[1] ?? "";
    const parts = [];
    const found = new Set();
    // A kid is a marked part of the page of the element, one of another page, or an element.
    for (const [, other, kid, mark] of kids.matchAll(/<<\/Type \/MCR\n\/Pg (\d+) 0 R\n\/MCID \d+>>|(\d+) 0 R|(\d+)/g)) {
      if (kid) parts.push(element(kid));
      else found.add(pages.indexOf(mark === undefined ? other : own));
    }
    for (const part of parts) part.pages.forEach((page) => found.add(page));
    return { kind, parts, pages: found };
  };
  const [[, root]] = only(/\/Type \/StructTreeRoot/);
  const elements = references(root.match(/\/K (\[.*?\]|\d+ 0 R)/s)[1]).map(element);
  const all = (list) => list.flatMap((one) => [one, ...all(one.parts)]);
  return { count: pages.length, elements: all(elements) };
}

/**
 * What is not as it should be: a picture, a text or a row of a table on two pages; a heading or the words of a figure on another page than
 * what follows; an empty page.
 */
export function splitOn({ count, elements }) {
  const wrong = [];
  const places = (list) => new Set(list.flatMap(({ pages }) => [...pages]));
  const inside = (one) => one.parts.flatMap((part) => [part, ...inside(part)]);
  const isPicture = (one) => one.kind === "Figure" && !inside(one).some(({ kind }) => kind === "Figure" || kind === "H3");
  const isText = ({ kind }) => /^(H\d|P|TR|LI)$/.test(kind);
  for (const one of elements.filter((one) => isText(one) || isPicture(one)))
    if (one.pages.size > 1) wrong.push(`${one.kind} on pages ${[...one.pages]}`);
  const told = elements.filter((one) => one.pages.size && (isText(one) || isPicture(one)));
  told.forEach(({ kind, pages }, i) => {
    if (kind.startsWith("H") && places(told.slice(i, i + 2)).size > 1) wrong.push(`${kind} at the end of page ${[...pages]}, alone`);
  });
  for (const figure of elements.filter((one) => one.kind === "Figure" && inside(one).some(({ kind }) => kind === "H3"))) {
    const parts = inside(figure).filter((one) => isText(one) || isPicture(one));
    // A figure may continue on the next page before the heading of a target or of one of several pictures, but for the first.
    const blocks = [[]];
    for (const part of parts) {
      const before = blocks.at(-1);
      if (part.kind === "H4" && before.some((one) => one.kind === "TR" || isPicture(one))) blocks.push([part]);
      else before.push(part);
    }
    for (const block of blocks)
      if (places(block).size > 1) wrong.push(`parts of a figure on pages ${[...places(block)]}`);
  }
  const used = places(elements);
  for (let page = 0; page < count; page++) if (!used.has(page)) wrong.push(`page ${page} is empty`);
  return wrong;
}
