// The model evaluated from its own file: the same sums as `rffblr predict`, for one row at a time.
// Equation numbers are those of docs/derivation.md.

/** Where in a cycle a moment is, from 0 to 1; weeks begin on Mondays. */
const phases = {
  year: (days) => days / 365.2425,
  week: (days) => (Math.floor(days) + 3) / 7,
  day: (days) => days,
};

/** The numbers of a date, from the days since the first one; cosine and sine of each cycle, none where it is missing. */
function encodeDate({ start, median, cycles, indicator }, days) {
  const missing = days === null;
  const out = [missing ? median : days];
  for (const cycle of cycles) {
    const angle = 2 * Math.PI * phases[cycle](start / 86400 + days);
    out.push(...(missing ? [0, 0] : [Math.cos(angle), Math.sin(angle)]));
  }
  return indicator ? [...out, missing ? 1 : 0] : out;
}

/** From the raw inputs of one row (number, text, days of a date, or null for missing) to the numbers the model sees. */
function encodeRow(file, raw) {
  if (!file.encoder) return file.inputs.names.map((name) => raw[name]);
  const out = [];
  for (const { name, encoding } of file.encoder.inputs) {
    const value = raw[name];
    const missing = value === null;
    if (encoding === "presence") out.push(missing ? 1 : 0);
    else if (encoding.numeric) {
      out.push(missing ? encoding.numeric.median : value);
      if (encoding.numeric.indicator) out.push(missing ? 1 : 0);
    } else if (encoding.date) out.push(...encodeDate(encoding.date, value));
    else {
      // A level that training did not have is unknown, as a missing one is.
      const { levels } = encoding.categorical;
      for (const level of levels) out.push(level === value ? 1 : 0);
      out.push(levels.includes(value) ? 0 : 1);
    }
  }
  return out;
}

/** The way back, for a training row: encoded numbers to raw inputs. */
function decodeRow(file, encoded) {
  const raw = {};
  if (!file.encoder) {
    file.inputs.names.forEach((name, d) => (raw[name] = encoded[d]));
    return raw;
  }
  let next = 0;
  for (const { name, encoding } of file.encoder.inputs) {
    if (encoding === "presence") {
      // The number itself was the same in all rows that had it; any will do.
      raw[name] = encoded[next++] === 1 ? null : 0;
    } else if (encoding.numeric) {
      raw[name] = encoded[next++];
      if (encoding.numeric.indicator && encoded[next++] === 1) raw[name] = null;
    } else if (encoding.date) {
      const { cycles, indicator } = encoding.date;
      raw[name] = indicator && encoded[next + 1 + 2 * cycles.length] === 1 ? null : encoded[next];
      next += 1 + 2 * cycles.length + (indicator ? 1 : 0);
    } else {
      const levels = encoding.categorical.levels;
      const found = levels.findIndex((_, i) => encoded[next + i] === 1);
      raw[name] = found < 0 ? null : levels[found];
      next += levels.length + 1;
    }
  }
  return raw;
}

/** The inputs a kernel machine keeps, one list for each column, as they were in the table to twelve digits. */
function storedInputs(file) {
  return columnsOf(file.function.kernel.rows).map((column, d) => {
    const mean = file.inputs.mean[d],
      scale = file.inputs.scale[d];
    const smallest = 1e-12 * Math.max(Math.abs(mean), scale);
    return column.map((z) => (Math.abs(mean + scale * z) < smallest ? 0 : Number((mean + scale * z).toPrecision(12))));
  });
}

/**
 * A predictor: `predict(encoded row, task)` gives the point prediction of each target, and of one its mean, its latent and
 * observation deviation and the ends of its 90 % interval. A transformed target has a
 * mean only with its deviation: where it is not the task, its median is given.
 */
function predictorOf(file) {
  const { kernel, sinusoids } = file.function;
  const machine = kernel ? kernelMachine(kernel) : cosines(sinusoids ?? file.function.cosines, Boolean(sinusoids));
  const { inputs, targets } = file;
  return {
    predict(row, task) {
      const z = row.map((value, d) => standardised(value, inputs.mean[d], inputs.scale[d]));
      const found = machine(z, task);
      const location = found.mean.map((value, c) => targets.mean[c] + targets.scale[c] * value);
      const transforms = file.transforms ?? location.map(() => null);
      const mean = location.map((value, c) => (transforms[c] ? restored(transforms[c], value) : value));
      if (task === undefined) return { mean };
      const transform = transforms[task];
      const latentStd = targets.scale[task] * Math.sqrt(found.variance);
      const std = targets.scale[task] * Math.sqrt(found.variance + noiseVariance(file, task));
      const at = (z) => {
        const value = location[task] + z * std;
        return transform ? restored(transform, value) : value;
      };
      const interval = reachOf(file, task).map(at);
      if (!transform) return { mean, latentStd, std, expected: mean[task], interval };
      const own = moments(transform, location[task], std);
      if (transform.point === "mean") mean[task] = own.mean;
      const latent = moments(transform, location[task], latentStd).std;
      return { mean, latentStd: latent, std: own.std, expected: own.mean, interval };
    },
  };
}

/** Ends of the 90 % interval in deviations: of errors on held-out rows, of which the file has every two-hundredth, or normal. */
function reachOf(file, task) {
  const errors = file.error_quantiles?.[task] ?? [];
  return errors.length ? [errors[9], errors[189]] : [-1.6448536269514722, 1.6448536269514722];
}

/** The way back from the scale of a transform, (45), as far outside the range of training as that is long and no farther. */
function restored({ shape, range: [low, high] }, z) {
  const least = low >= 0 ? Math.max(2 * low - high, 0) : 2 * low - high;
  const value = shape === "log" ? Math.exp(z) : shape.asinh.centre + shape.asinh.width * Math.sinh(z);
  return Math.min(Math.max(value, least), 2 * high - low);
}

/** Mean and deviation of a target that is normal on the scale of its transform, (46): equal steps of ¼ from −8 to 8. */
function moments(transform, location, scale) {
  const middle = restored(transform, location);
  let [total, first, second] = [0, 0, 0];
  for (let k = -32; k <= 32; k++) {
    const weight = Math.exp(-0.5 * (k / 4) ** 2);
    const y = restored(transform, location + (scale * k) / 4) - middle;
    total += weight;
    first += weight * y;
    second += weight * y * y;
  }
  const mean = first / total;
  return { mean: middle + mean, std: Math.sqrt(Math.max(second / total - mean * mean, 0)) };
}

function standardised(value, mean, scale) {
  const difference = value - mean;
  return Number.isFinite(difference) ? difference / scale : value / scale - mean / scale;
}

function noiseVariance(file, task) {
  const { kernel, sinusoids, cosines } = file.function;
  if (kernel) {
    const { tasks, amplitude, noise } = kernel.groups.find((group) => group.tasks.includes(task));
    const at = tasks.indexOf(task);
    return amplitude[at] * noise[at];
  }
  return meanInverse((sinusoids ?? cosines).noise[task]);
}

/** ⟨1/τ⟩ of a Gamma belief. */
function meanInverse({ shape, rate }) {
  return rate / Math.max(shape - 1, shape / 2);
}

/** The machines of all groups of tasks, each with a kernel of its own, on the same rows. */
function kernelMachine(machine) {
  const rows = rowsOf(machine.rows);
  const groups = machine.groups.map((group) => [group.tasks, machineOf(group, rows, machine.root_weights)]);
  return (row, task) => {
    const z = Float64Array.from(row);
    const out = { mean: [] };
    for (const [tasks, predict] of groups) {
      const at = tasks.indexOf(task);
      const { mean, variance } = predict(z, at < 0 ? undefined : at);
      tasks.forEach((c, i) => (out.mean[c] = mean[i]));
      if (at >= 0) out.variance = variance;
    }
    return out;
  };
}

/** f(x) = Σ β κ(x_n, x) with variance a (κ(x, x) − ‖L⁻¹ u κ(X, x)‖²), (27). */
function machineOf({ kernel, observed, noise, amplitude, coefficients }, rows, root) {
  const beta = columnsOf(coefficients);
  const columns = kernel.input_scales.length;
  const scales = Float64Array.from(kernel.input_scales);
  const similar = (x, y) => {
    let product = 0,
      square = 0,
      absolute = 0;
    for (let d = 0; d < columns; d++) {
      const delta = x[d] - y[d];
      product += x[d] * y[d];
      square += delta * delta;
      absolute += scales[d] * Math.abs(delta);
    }
    return (
      1 +
      (kernel.linear * product) / columns +
      kernel.rbf.variance * Math.exp(-kernel.rbf.bandwidth * square) +
      kernel.laplace_l1.variance * Math.exp(-kernel.laplace_l1.bandwidth * absolute)
    );
  };
  // Tasks observed in the same rows with the same noise share a factor; it is computed when first asked for.
  const factors = new Map();
  const factor = (task) => {
    const key = JSON.stringify([observed[task], noise[task]]);
    if (!factors.has(key)) {
      const used = observed[task] ?? rows.map((_, n) => n);
      const entry = (i, j) =>
        root[used[i]] * root[used[j]] * similar(rows[used[i]], rows[used[j]]) + (i === j ? noise[task] : 0);
      factors.set(key, { used, lower: cholesky(used.length, entry) });
    }
    return factors.get(key);
  };
  return (z, task) => {
    const k = rows.map((other) => similar(other, z));
    const mean = beta.map((column) => column.reduce((sum, b, n) => sum + b * k[n], 0));
    if (task === undefined) return { mean };
    const { used, lower } = factor(task);
    const half = halfSolve(
      lower,
      used.map((n) => root[n] * k[n]),
    );
    const left = similar(z, z) - dotOf(half, half, half.length);
    return { mean, variance: amplitude[task] * Math.max(left, 0) };
  };
}

/** f(x) = Σ w a cos(ω·x + p) + links + b with variance φᵀΣφ, (16) and (17); of sinusoids in units of the noise, (30). */
function cosines({ waves, noise }, relative) {
  const { phases, amplitude, links, precision } = waves;
  const frequencies = columnsOf(waves.frequencies);
  const link = 1 / Math.sqrt(Math.max(waves.frequencies.rows, 1));
  const weights = columnsOf(waves.mean);
  const shapes = waves.shapes.map((shape) => ({ ...shape, vectors: columnsOf(shape.vectors) }));
  return (z, task) => {
    const phi = frequencies.map((omega, m) => amplitude * Math.cos(dot(z, omega) + phases[m]));
    for (const input of links) phi.push(link * z[input]);
    phi.push(1);
    const mean = weights.map((column) => dot(column, phi));
    if (task === undefined) return { mean };
    const white = phi.map((value, k) => value / Math.sqrt(precision[k]));
    const { values, vectors } = shapes.find((shape) => shape.tasks.includes(task));
    const inside = vectors.map((vector) => dot(vector, white) ** 2);
    const complete = values.length === precision.length;
    const outside = complete ? 0 : Math.max(dot(white, white) - inside.reduce((sum, v) => sum + v, 0), 0);
    const tau = relative ? 1 : noise[task].shape / noise[task].rate;
    const variance = inside.reduce((sum, v, j) => sum + v / (1 + tau * values[j]), outside);
    return { mean, variance: (relative ? meanInverse(noise[task]) : 1) * variance };
  };
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** The sum over the first entries of two Float64Arrays: four sums at once, since one waits for itself. */
function dotOf(a, b, length) {
  let [s0, s1, s2, s3] = [0, 0, 0, 0];
  let i = 0;
  for (; i + 3 < length; i += 4) {
    s0 += a[i] * b[i];
    s1 += a[i + 1] * b[i + 1];
    s2 += a[i + 2] * b[i + 2];
    s3 += a[i + 3] * b[i + 3];
  }
  for (; i < length; i++) s0 += a[i] * b[i];
  return s0 + s1 + (s2 + s3);
}

/** Tables are kept column after column. */
function columnsOf({ rows, columns, values }) {
  return Array.from({ length: columns }, (_, j) => values.slice(j * rows, (j + 1) * rows));
}

function rowsOf({ rows, columns, values }) {
  return Array.from({ length: rows }, (_, i) => Float64Array.from({ length: columns }, (_, j) => values[j * rows + i]));
}

/** L of a positive definite matrix, row by row. */
function cholesky(size, entry) {
  const lower = [];
  for (let i = 0; i < size; i++) {
    const row = new Float64Array(i + 1);
    for (let j = 0; j <= i; j++) {
      const other = j < i ? lower[j] : row;
      const value = entry(i, j) - dotOf(row, other, j);
      row[j] = j < i ? value / other[j] : Math.sqrt(value);
    }
    lower.push(row);
  }
  return lower;
}

/** L⁻¹ b. */
function halfSolve(lower, b) {
  const out = new Float64Array(b.length);
  for (let i = 0; i < b.length; i++) {
    out[i] = (b[i] - dotOf(lower[i], out, i)) / lower[i][i];
  }
  return out;
}

/** The largest difference between stored probe predictions and what this page computes, in predictive deviations. */
function probeDifference(file) {
  const { predict } = predictorOf(file);
  const [mean, std] = [rowsOf(file.probes.mean), rowsOf(file.probes.std)];
  const differences = rowsOf(file.probes.inputs).flatMap((row, i) => {
    const found = predict(Array.from(row));
    // The mean of a transformed target needs its deviation.
    const own = (c) => (file.transforms?.[c] ? predict(Array.from(row), c).expected : found.mean[c]);
    return found.mean.map((_, c) => Math.abs(own(c) - mean[i][c]) / std[i][c]);
  });
  return Math.max(...differences);
}
