// The model: what is above in numbers. Equations are those of the documentation of rffblr, docs/exports.md.

export const inputs = MODEL.inputs.map(({ name }) => name);
export const targets = MODEL.targets.map(({ name }) => name);

// Nodes and weights by which the mean of a transformed target is computed.
const NODES = Array.from({ length: 65 }, (_, k) => [(k - 32) / 4, Math.exp(-0.5 * ((k - 32) / 4) ** 2)]);

/**
 * Predicts one row: an object with numbers, texts and dates by the names of the inputs. A date is a text in ISO format or a
 * number of seconds since 1970 by the clock of the place, a time of day hh:mm:ss or seconds since midnight. Missing are null,
 * undefined, NaN, "" and words such as NA. Throws, with the name of the input, if a cell is something else or is not there. Gives the prediction of each target and, with the endings _std, _lower and _upper, its standard
 * deviation and interval.
 */
export function predict(row) {
  const cells = MODEL.inputs.map((given) => read(row, given));
  const z = MODEL.columns.map(
    ({ input, cell, mean, scale }) => (encode(cell, cells[input], MODEL.inputs[input]) - mean) / scale,
  );
  const mean = [],
    variance = [];
  for (const part of MODEL.parts) {
    const { phi, prior, far } = termsOf(part, z);
    part.tasks.forEach((task, i) => (mean[task] = dot(part.weights[i], phi)));
    for (const spread of part.spreads) {
      const own = spread.terms.length ? spread.terms.map((k) => phi[k]) : phi;
      let left = spread.factor.reduce((sum, line) => sum + dot(line, own) ** 2, 0);
      let near = 0;
      if (part.kind === "kernel") {
        left = Math.max(prior - left, 0);
        near = far > 0 ? Math.min(Math.max(1 - left / far, 0), 1) : 1;
      }
      spread.tasks.forEach((task, i) => (variance[task] = spread.unit[i] * left * (1 - spread.correction[i] * near)));
    }
  }
  const out = {};
  MODEL.targets.forEach(({ name, shift, scale, noise, reach, transform: [transform] }, c) => {
    const location = shift + scale * mean[c];
    const back = (u) => (transform ? restored(transform, u) : u);
    const point = back(location);
    out[name] = point;
    if (!MODEL.coverage) return;
    const std = scale * Math.sqrt(variance[c] + noise);
    out[`${name}_std`] = std;
    if (transform) {
      let [total, first, second] = [0, 0, 0];
      for (const [node, weight] of NODES) {
        const y = back(location + std * node) - point;
        total += weight;
        first += weight * y;
        second += weight * y * y;
      }
      first /= total;
      out[`${name}_std`] = Math.sqrt(Math.max(second / total - first * first, 0));
      if (!transform.median) out[name] = point + first;
    }
    out[`${name}_lower`] = back(location + reach[0] * std);
    out[`${name}_upper`] = back(location + reach[1] * std);
  });
  return out;
}

function read(row, { name, kind, required, levels }) {
  if (!(name in row)) throw new Error(`input ${name} is not there; the model needs ${inputs.join(", ")}`);
  let value = row[name];
  if (typeof value === "string" && !levels.includes(value)) {
    value = value.trim();
    if (MODEL.missing.includes(value.toUpperCase()) && !levels.includes(value)) value = null;
  }
  if (value === null || value === undefined || Number.isNaN(value)) {
    if (required) throw new Error(`input ${name} is missing, and this model does not take that; give a value`);
    return null;
  }
  if (kind === "text") return String(value);
  const wrong = (meant) => new Error(`input ${name}: ${value} is no ${meant}; correct it, or give null if it is missing`);
  if (kind === "number" || typeof value === "number") {
    const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value) ? Number(value) : NaN;
    if (!Number.isFinite(number)) throw wrong("finite number");
    return number;
  }
  const [, date, clock] = /^(?:(\d{4}-\d{2}-\d{2})[T ]?)?(\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?/.exec(value);
  if (kind === "date" ? !date : date || !clock) throw wrong("date or time in ISO format");
  const [hours, minutes, seconds] = (clock ?? "0:0").split(":").map(Number);
  return (date ? Date.parse(`${date}T00:00:00Z`) / 1000 : 0) + 3600 * hours + 60 * minutes + (seconds ?? 0);
}

function encode(cell, value, { levels }) {
  const missing = value === null;
  switch (cell.kind) {
    case "missing":
      return Number(missing);
    case "level":
      return Number(value === cell.level);
    case "rare":
      return Number(!missing && !levels.includes(value));
    case "unknown":
      return Number(!levels.includes(value));
    case "number":
      return missing ? cell.median : value;
    case "days":
      return missing ? cell.median : (value - cell.start) / 86400;
  }
  if (missing) return 0;
  const days = value / 86400;
  const phase = ((cell.whole ? Math.floor(days) : days) + cell.shift) / cell.period;
  return Math[cell.kind](2 * Math.PI * (phase - Math.floor(phase)));
}

/** The terms of a part; of kernels also the variance before any row was seen, and far from all rows. */
function termsOf(part, z) {
  if (part.kind === "waves") {
    const waves = part.frequencies.map((omega, k) => part.amplitude * Math.cos(dot(omega, z) + part.phases[k]));
    return { phi: [...waves, ...part.links.map((d) => part.link * z[d]), 1] };
  }
  const { rows, linear, rbf, laplace, scales } = part;
  const kernel = (row) => {
    let [square, absolute] = [0, 0];
    row.forEach((a, d) => {
      square += (a - z[d]) ** 2;
      absolute += scales[d] * Math.abs(a - z[d]);
    });
    return 1 + linear * dot(row, z) + rbf[0] * Math.exp(-rbf[1] * square) + laplace[0] * Math.exp(-absolute);
  };
  return { phi: rows.map(kernel), prior: kernel(z), far: rbf[0] + laplace[0] };
}

function restored({ shape, centre, width, low, high, least, most }, u) {
  const inside = Math.min(Math.max(u, low), high);
  const value = centre + width * (shape === "exp" ? Math.exp(inside) : Math.sinh(inside));
  return Math.min(Math.max(value, least), most);
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
