// What the what-if panel needs to know of a model: its raw inputs, what each of several changes adds, and what is far from all rows.

/** Raw inputs with what a field needs: kind, levels, range, and where to start if no row may be shown. */
function fieldsOf(file, facts) {
  const raws = file.encoder
    ? file.encoder.inputs
    : file.inputs.names.map((name, d) => ({
        name,
        encoding: { numeric: { median: file.inputs.mean[d], indicator: false } },
      }));
  const mayMiss = file.encoder ? file.encoder.missing === "impute" : false;
  let column = 0;
  return raws.map(({ name, encoding }, i) => {
    const first = column;
    const known = facts.learned?.inputs[i];
    const field = { name, label: inputAxis(facts, i), position: i, mayMiss, hadGaps: true, column: first };
    if (encoding === "presence") {
      column += 1;
      return { ...field, levels: ["present"], start: 0, presence: true };
    }
    if (encoding.categorical) {
      const { levels } = encoding.categorical;
      column += levels.length + 1;
      const most = known?.counts.length ? d3.maxIndex(known.counts) : 0;
      return { ...field, levels, start: levels[most], hadGaps: encoding.categorical.gaps };
    }
    const { date } = encoding;
    const number = date ?? encoding.numeric;
    column += 1 + (date ? 2 * date.cycles.length : 0) + (number.indicator ? 1 : 0);
    const spread = 2.5 * file.inputs.scale[first];
    const seen = known?.histogram;
    const range = seen
      ? [seen.edges[0], seen.edges.at(-1)]
      : [file.inputs.mean[first] - spread, file.inputs.mean[first] + spread];
    // Without row data the ends are between two rows: whole days only.
    if (date && !facts.dates[i].times && Math.ceil(range[0]) <= Math.floor(range[1])) {
      range[0] = Math.ceil(range[0]);
      range[1] = Math.floor(range[1]);
    }
    return {
      ...field,
      levels: null,
      date: date ? calendarOf(facts, i) : null,
      start: date ? number.median : Number(number.median.toPrecision(4)),
      range,
      observed: Boolean(seen),
      hadGaps: number.indicator,
      bars: seen ? seen.counts.map((count, k) => ({ count, width: (seen.edges[k + 1] - seen.edges[k]) / (range[1] - range[0] || 1) })) : [],
    };
  });
}

/**
 * How the days of a date become what a field of the calendar holds, and the way back: a day, a day with its time, or the time of
 * a day. `whole` brings any number of days to one that the field can hold.
 */
function calendarOf(facts, input) {
  const { since, times, clock } = facts.dates[input];
  const type = clock ? "time" : times ? "datetime-local" : "date";
  const part = { time: [11, 19], "datetime-local": [0, 19], date: [0, 10] }[type];
  const text = (days) => {
    const moment = momentOf(facts, input, days);
    return Number.isNaN(moment.getTime()) ? "" : moment.toISOString().slice(...part);
  };
  const step = type === "date" ? 86_400 : 60;
  const whole = (days) => (step * Math.round((since + 86_400 * days) / step) - since) / 86_400;
  return { type, text, whole, days: (control) => (control.valueAsNumber / 1000 - since) / 86_400 };
}

/** The 90 % interval of a prediction of one target. */
function intervalOf(found) {
  return found.interval ?? null;
}

/**
 * What each of some changes adds to a prediction, over all orders of making them (Shapley values); with many changes, over
 * sixteen orders. `at(changed)` gives the means with some of them made.
 */
function contributions(count, at) {
  const zero = at([]).map(() => 0);
  const sums = d3.range(count).map(() => [...zero]);
  const orders = [];
  if (count <= 4) permute([], d3.range(count), orders);
  else
    for (let k = 0; k < 8; k++) {
      const order = d3.range(count).map((i) => (i * coprime(count, k) + Math.floor((k * count) / 8)) % count);
      orders.push(order, [...order].reverse());
    }
  const known = new Map();
  const value = (some) => {
    const key = [...some].sort((a, b) => a - b).join();
    if (!known.has(key)) known.set(key, at(some));
    return known.get(key);
  };
  for (const order of orders) {
    order.forEach((input, k) => {
      const [before, after] = [value(order.slice(0, k)), value(order.slice(0, k + 1))];
      after.forEach((mean, c) => (sums[input][c] += (mean - before[c]) / orders.length));
    });
  }
  return { sums, exact: count <= 4 };
}

function permute(done, left, out) {
  if (!left.length) out.push(done);
  left.forEach((next, i) => permute([...done, next], [...left.slice(0, i), ...left.slice(i + 1)], out));
}

/** A step through 0 … count − 1 that comes by every place. */
function coprime(count, k) {
  const gcd = (a, b) => (b ? gcd(b, a % b) : a);
  let step = 1 + ((k * 7) % count);
  while (gcd(step, count) !== 1) step++;
  return step;
}

/**
 * Whether rows have values like these together: a function that gives the inputs that do not go together, none if there is
 * no doubt; null where the page has no rows. Two numbers do not if both are extreme and no row is as far out in both, or if they
 * are farther from the nearest row than every row from its neighbour; all inputs, by how much they matter, if they are
 * farther than nearly every row.
 */
function nearnessOf(facts, file, fields) {
  const columns = shownInputs(facts);
  if (!columns.length || columns[0].length < 20) return null;
  const step = Math.ceil(columns[0].length / 500);
  const rows = d3.range(0, columns[0].length, step).map((n) => decodeRow(file, columns.map((column) => column[n])));
  const share = facts.learned.relevance.share;
  const weight = fields.map((field) => d3.mean(share, (task) => task[field.position]));
  const used = [...fields].sort((a, b) => weight[b.position] - weight[a.position]).slice(0, 20);
  const along = (field, a, b) => {
    if (a === null || b === null || field.levels) return a === b ? 0 : 1;
    return Math.min(2, Math.abs(a - b) / (field.range[1] - field.range[0] || 1));
  };
  const distance = (a, b) => d3.sum(used, (field) => weight[field.position] * along(field, a[field.name], b[field.name]));
  const nearest = (row, but) => d3.min(rows, (other) => (other === but ? Infinity : distance(row, other)));
  const sample = rows.filter((_, i) => i % Math.ceil(rows.length / 120) === 0);
  const limit = 1.2 * d3.quantile(sample.map((row) => nearest(row, row)).sort(d3.ascending), 0.98);
  // One of a hundred rows has less, or more.
  const sorted = new Map(used.map((field) => [field, rows.map((row) => row[field.name]).filter((v) => v !== null).sort(d3.ascending)]));
  const tailOf = (field, value) => {
    const all = sorted.get(field);
    return 100 * d3.bisectRight(all, value) <= all.length ? -1 : 100 * (all.length - d3.bisectLeft(all, value)) <= all.length ? 1 : 0;
  };
  // Of two numbers all rows are compared with each other, those without gaps.
  const plane = ([a, b]) => {
    const place = (row) => [a, b].map((field) => row[field.name] / (field.range[1] - field.range[0] || 1));
    const full = (row) => row[a.name] !== null && row[b.name] !== null;
    const points = rows.filter(full).map(place);
    const nearest = ([x, y], but) => {
      let least = Infinity;
      for (let i = 0; i < points.length; i++)
        if (i !== but) least = Math.min(least, Math.abs(points[i][0] - x) + Math.abs(points[i][1] - y));
      return least;
    };
    const limit = 1.25 * d3.max(points, (point, i) => nearest(point, i));
    const lonely = (row) => {
      const tails = [a, b].map((field) => tailOf(field, row[field.name]));
      const asFar = (field, i, other) => tails[i] * (other[field.name] - row[field.name]) >= 0;
      return tails.every((tail) => tail) && !rows.some((other) => full(other) && asFar(a, 0, other) && asFar(b, 1, other));
    };
    return { inputs: [a, b], far: (row) => full(row) && (lonely(row) || nearest(place(row)) > limit) };
  };
  const numbers = used.filter((field) => !field.levels).slice(0, 12);
  const planes = d3.cross(numbers, numbers).filter(([a, b]) => a.position < b.position).map(plane);
  return (row) => planes.find(({ far }) => far(row))?.inputs ?? (nearest(row, null) > limit ? used : []);
}
