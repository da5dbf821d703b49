//! SQL: one SELECT of a chain of tables, each computed once from the one before it.

use crate::formula::{Back, Cell, Column, Curve, Formula, Input, Kind, Part, SIDE, STEP, Terms};
use crate::text::{column, commented, sql};
use crate::{Dialect, Options};

/// The exponential of less is taken for that of this: PostgreSQL refuses numbers that are too small for it.
const LEAST_EXPONENT: f64 = -600.0;

/// The user's table. A name alone that no column has would be a text to SQLite; with that of the table it is an error.
const TABLE: &str = "rffblr_data";

/// The statement.
pub(crate) fn select(formula: &Formula, dialect: Dialect, options: &Options) -> String {
    let kept: Vec<String> = (0..options.keep.len()).map(|k| format!("k{k}")).collect();
    let mut stages = vec![("nodes", nodes())];
    // No table of the user has such a name.
    let own = |name: &str| format!("rffblr_{name}");
    let from = |name: &str, columns: Vec<String>| {
        let all: Vec<String> = kept.iter().cloned().chain(columns).collect();
        format!("SELECT {} FROM {}", all.join(",\n  "), own(name))
    };
    let missing = formula.missing.iter().map(|word| sql(word)).collect::<Vec<_>>().join(", ");
    let given = |(i, input): (usize, &Input)| format!("{} AS x{i}", read(input, &missing, dialect));
    let named = options.keep.iter().zip(&kept).map(|(name, kept)| format!("{} AS {kept}", of_table(name)));
    let read: Vec<String> = named.chain(formula.inputs.iter().enumerate().map(given)).collect();
    stages.push(("inputs", format!("SELECT {} FROM {} AS {TABLE}", read.join(",\n  "), column(&options.table))));
    let standardised = |(d, of): (usize, &Column)| {
        format!("({} - {}) / {} AS z{d}", cell(of, &formula.inputs[of.input]), number(of.mean), number(of.scale))
    };
    stages.push(("columns", from("inputs", formula.columns.iter().enumerate().map(standardised).collect())));
    let terms = formula.parts.iter().enumerate().flat_map(|(p, part)| terms(part, p, formula.columns.len(), dialect));
    stages.push(("terms", from("columns", terms.collect())));
    stages.push(("functions", from("terms", functions(formula))));
    stages.push(("normal", from("functions", normal(formula, dialect))));
    stages.push(("moments", from("normal", moments(formula, dialect))));
    let named = kept.iter().zip(&options.keep).map(|(kept, name)| format!("{kept} AS {}", column(name)));
    let shown: Vec<String> = named.chain(predictions(formula, dialect)).collect();
    let stages: Vec<String> =
        stages.iter().map(|(name, select)| format!("{} AS MATERIALIZED (\n  {select}\n)", own(name))).collect();
    let about = commented(&formula.about, "--");
    format!("{about}\nWITH {}\nSELECT {}\nFROM {}\n", stages.join(",\n"), shown.join(",\n  "), own("moments"))
}

/// A double in every dialect; without an exponent it would be a decimal number in some.
fn number(value: f64) -> String {
    if value < 0.0 { format!("({value:e})") } else { format!("{value:e}") }
}

/// A sum that is not nested deeper than parsers allow.
fn sum(terms: &[String]) -> String {
    match terms.len() {
        0 => "0e0".into(),
        1..=16 => format!("({})", terms.join(" + ")),
        count => format!("({} + {})", sum(&terms[..count / 2]), sum(&terms[count / 2..])),
    }
}

/// Σ number · name of a column.
fn product<'a>(numbers: impl IntoIterator<Item = &'a f64>, name: impl Fn(usize) -> String) -> String {
    let terms = numbers.into_iter().enumerate().filter(|(_, value)| **value != 0.0);
    sum(&terms.map(|(k, value)| format!("{}*{}", number(*value), name(k))).collect::<Vec<_>>())
}

fn at_least(value: &str, least: &str, dialect: Dialect) -> String {
    format!("{}({value}, {least})", if dialect == Dialect::Sqlite { "max" } else { "greatest" })
}

fn at_most(value: &str, most: &str, dialect: Dialect) -> String {
    format!("{}({value}, {most})", if dialect == Dialect::Sqlite { "min" } else { "least" })
}

/// A column of the user's table.
fn of_table(name: &str) -> String {
    format!("{TABLE}.{}", column(name))
}

/// A column of the table as number, text or seconds; NULL where it is missing, an error where it is something else.
fn read(input: &Input, missing: &str, dialect: Dialect) -> String {
    let name = of_table(&input.name);
    let text = format!("CAST({name} AS TEXT)");
    let absent = format!("WHEN {name} IS NULL OR upper(trim({text})) IN ({missing}) THEN NULL");
    // An error whose message shows the text. SQLite casts any text to a number, zero if need be; there it is one of a path.
    let wrong = |meant: &str| {
        let says = format!("{} || {text}", sql(&format!("column {} is no {meant}: ", input.name)));
        if dialect == Dialect::Sqlite { format!("json_extract('{{}}', {says})") } else { says }
    };
    match (input.kind, dialect) {
        (Kind::Number, _) => {
            let double = |value: &str| format!("CAST({value} AS double precision)");
            // SQLite compares text that is a number as one with what was cast to a number, and other text is greater.
            let within = |value: &str| format!("{value} BETWEEN {} AND {}", double("-1e308"), double("1e308"));
            // The others refuse what they cannot cast, but PostgreSQL casts 0x10 and DuckDB 1_000.
            let plain = format!("strpos(upper({text}), 'X') + strpos({text}, '_') = 0");
            let finite = match dialect {
                Dialect::Sqlite => within(&name),
                _ => format!("{plain} AND {}", within(&double(&name))),
            };
            format!("CASE {absent} WHEN {finite} THEN {} ELSE {} END", double(&name), double(&wrong("finite number")))
        }
        (Kind::Text, _) => {
            format!("CASE WHEN {text} IN ({}) THEN {text} {absent} ELSE trim({text}) END", levels(input))
        }
        (Kind::Date | Kind::Time, Dialect::Sqlite) => {
            let part = |format: &str| format!("CAST(strftime('{format}', {name}) AS REAL)");
            // SQLite takes a time of day for one of the first of January 2000.
            let (start, meant) = if input.kind == Kind::Time { (" - 946684800e0", "time") } else { ("", "date") };
            let seconds = format!("{} + ({} - {}){start}", part("%s"), part("%f"), part("%S"));
            format!("CASE {absent} WHEN {} IS NULL THEN {} ELSE {seconds} END", part("%s"), wrong(meant))
        }
        (Kind::Date | Kind::Time, _) => {
            let kind = if input.kind == Kind::Time { "time" } else { "timestamp" };
            format!("CASE {absent} ELSE CAST(extract(epoch FROM CAST({name} AS {kind})) AS double precision) END")
        }
    }
}

/// The known levels of a text as a list that is not empty.
fn levels(input: &Input) -> String {
    let levels: Vec<String> = input.levels.iter().map(|level| sql(level)).collect();
    if levels.is_empty() { "NULL".into() } else { levels.join(", ") }
}

/// A cell of an encoded column; NULL where the input must be there and is missing.
fn cell(of: &Column, input: &Input) -> String {
    let x = format!("x{}", of.input);
    let strict = if input.required == 1 { format!("WHEN {x} IS NULL THEN NULL ") } else { String::new() };
    let wave = |name: &str, (period, shift, whole): (f64, f64, u8)| {
        let days = if whole == 1 { format!("floor({x} / 86400e0)") } else { format!("{x} / 86400e0") };
        let phase = format!("({days} + {}) / {}", number(shift), number(period));
        let wave = format!("{name}(6.283185307179586e0 * ({phase} - floor({phase})))");
        format!("CASE {strict}WHEN {x} IS NULL THEN 0e0 ELSE {wave} END")
    };
    match &of.cell {
        Cell::Number { .. } if input.required == 1 => x,
        Cell::Number { median } => format!("COALESCE({x}, {})", number(*median)),
        Cell::Missing {} => format!("CASE {strict}WHEN {x} IS NULL THEN 1e0 ELSE 0e0 END"),
        Cell::Level { level } => format!("CASE {strict}WHEN {x} = {} THEN 1e0 ELSE 0e0 END", sql(level)),
        Cell::Rare {} => format!("CASE {strict}WHEN {x} IS NULL OR {x} IN ({}) THEN 0e0 ELSE 1e0 END", levels(input)),
        Cell::Unknown {} => format!("CASE {strict}WHEN {x} IN ({}) THEN 0e0 ELSE 1e0 END", levels(input)),
        Cell::Days { start, .. } if input.required == 1 => format!("({x} - {}) / 86400e0", number(*start)),
        Cell::Days { start, median } => format!("COALESCE(({x} - {}) / 86400e0, {})", number(*start), number(*median)),
        Cell::Cos { period, shift, whole } => wave("cos", (*period, *shift, *whole)),
        Cell::Sin { period, shift, whole } => wave("sin", (*period, *shift, *whole)),
    }
}

/// The terms p0_0, p0_1, … of a part and, of kernels, the variance q0 before any row was seen.
fn terms(part: &Part, p: usize, columns: usize, dialect: Dialect) -> Vec<String> {
    let z = |d: usize| format!("z{d}");
    match &part.terms {
        Terms::Waves { amplitude, frequencies, phases, link, links } => {
            let wave = |(omega, phase): (&Vec<f64>, &f64)| {
                format!("{}*cos({} + {})", number(*amplitude), product(omega, z), number(*phase))
            };
            let waves = frequencies.iter().zip(phases).map(wave);
            let links = links.iter().map(|&d| format!("{}*{}", number(*link), z(d)));
            let all = waves.chain(links).chain(["1e0".to_owned()]);
            all.enumerate().map(|(k, term)| format!("{term} AS p{p}_{k}")).collect()
        }
        Terms::Kernel { rows, linear, rbf, laplace, scales } => {
            let falling = |distance: &str| {
                format!("exp({})", at_least(&format!("-{distance}"), &number(LEAST_EXPONENT), dialect))
            };
            let kernel = |row: &Vec<f64>| {
                let apart = |d: usize| format!("({} - z{d})", number(row[d]));
                let square: Vec<String> = (0..columns).map(|d| format!("{0}*{0}", apart(d))).collect();
                let rough = (0..columns).filter(|&d| scales[d] != 0.0);
                let rough: Vec<String> = rough.map(|d| format!("{}*abs{}", number(scales[d]), apart(d))).collect();
                let straight: Vec<f64> = row.iter().map(|x| linear * x).collect();
                let smooth = falling(&format!("{}*{}", number(rbf[1]), sum(&square)));
                let rough = falling(&sum(&rough));
                let [rbf, laplace] = [rbf[0], laplace[0]].map(number);
                format!("1e0 + {} + {rbf}*{smooth} + {laplace}*{rough}", product(&straight, z))
            };
            let terms = rows.iter().enumerate().map(|(k, row)| format!("{} AS p{p}_{k}", kernel(row)));
            let squares: Vec<String> = (0..columns).map(|d| format!("z{d}*z{d}")).collect();
            let prior =
                format!("{} + {}*{} AS q{p}", number(1.0 + rbf[0] + laplace[0]), number(*linear), sum(&squares));
            terms.chain([prior]).collect()
        }
    }
}

/// Mean f0, f1, … and variance v0, v1, … of each task on the scale of the fit.
fn functions(formula: &Formula) -> Vec<String> {
    let mut out = Vec::new();
    for (p, part) in formula.parts.iter().enumerate() {
        for (task, weights) in part.tasks.iter().zip(&part.weights) {
            out.push(format!("{} AS f{task}", product(weights, |k| format!("p{p}_{k}"))));
        }
        for spread in &part.spreads {
            let term = |k: usize| format!("p{p}_{}", spread.terms.get(k).copied().unwrap_or(k));
            let square = |line: &Vec<f64>| format!("power({}, 2)", product(line, term));
            let explained = sum(&spread.factor.iter().map(square).collect::<Vec<_>>());
            let left =
                if matches!(part.terms, Terms::Kernel { .. }) { format!("q{p} - {explained}") } else { explained };
            // Once for all its tasks; the corrections of machines of many rows do not occur in ones small enough for this.
            out.push(format!("{left} AS v{}", spread.tasks[0]));
        }
    }
    out
}

/// Location l0 and standard deviation d0 of each target on the scale of its transform, and its median m0 on its own.
fn normal(formula: &Formula, dialect: Dialect) -> Vec<String> {
    let mut out = Vec::new();
    for (c, target) in formula.targets.iter().enumerate() {
        let location = format!("({} + {}*f{c})", number(target.shift), number(target.scale));
        out.push(format!("{location} AS l{c}"));
        let spreads = formula.parts.iter().flat_map(|part| &part.spreads);
        let own = spreads.filter_map(|spread| Some((spread, spread.tasks.iter().position(|task| *task == c)?)));
        for (spread, i) in own {
            let (v, unit) = (format!("v{}", spread.tasks[0]), number(spread.unit[i]));
            let left = format!("CASE WHEN {v} < 0 THEN 0e0 ELSE {v} END");
            out.push(format!("{}*sqrt({unit}*({left}) + {}) AS d{c}", number(target.scale), number(target.noise)));
        }
        out.extend(target.transform.iter().map(|of| format!("{} AS m{c}", back(of, &location, dialect))));
    }
    out
}

/// The way back from the scale of a transform, for an expression that is written several times.
fn back(of: &Back, u: &str, dialect: Dialect) -> String {
    let within =
        |value: &str, low: f64, high: f64| at_most(&at_least(value, &number(low), dialect), &number(high), dialect);
    let inside = within(u, of.low, of.high);
    let curve = match of.shape {
        Curve::Exp => format!("exp({inside})"),
        Curve::Sinh => format!("(exp({inside}) - exp(-{inside})) / 2e0"),
    };
    let value = within(&format!("{} + {}*{curve}", number(of.centre), number(of.width)), of.least, of.most);
    // Greatest and least of a missing number and another are the other.
    format!("CASE WHEN {u} IS NULL THEN NULL ELSE {value} END")
}

/// Places, in standard deviations, and weights of the mean over a normal distribution.
fn nodes() -> String {
    let weight = |k: i32| (-0.5 * (STEP * f64::from(k)).powi(2)).exp();
    let total: f64 = (-SIDE..=SIDE).map(weight).sum();
    let row = |k: i32| format!("SELECT {} AS z, {} AS w", number(STEP * f64::from(k)), number(weight(k) / total));
    (-SIDE..=SIDE).map(row).collect::<Vec<_>>().join("\n  UNION ALL ")
}

/// All of `normal`, and of transformed targets the first and second moment around the median, a0 and b0.
fn moments(formula: &Formula, dialect: Dialect) -> Vec<String> {
    let mut out = Vec::new();
    for (c, target) in formula.targets.iter().enumerate() {
        out.push(format!("l{c}"));
        if !formula.uncertain() {
            out.extend(target.transform.iter().map(|_| format!("m{c}")));
            continue;
        }
        out.push(format!("d{c}"));
        for of in &target.transform {
            let y = format!("({} - m{c})", back(of, &format!("(l{c} + d{c}*nodes.z)"), dialect));
            out.push(format!("m{c}"));
            out.push(format!("(SELECT sum(nodes.w*{y}) FROM rffblr_nodes AS nodes) AS a{c}"));
            out.push(format!("(SELECT sum(nodes.w*power({y}, 2)) FROM rffblr_nodes AS nodes) AS b{c}"));
        }
    }
    out
}

/// The columns of predictions.
fn predictions(formula: &Formula, dialect: Dialect) -> Vec<String> {
    let mut out = Vec::new();
    for (c, target) in formula.targets.iter().enumerate() {
        let end = |reach: f64| format!("(l{c} + {}*d{c})", number(reach));
        let values = match (target.transform.first(), formula.uncertain()) {
            (None, _) => vec![format!("l{c}"), format!("d{c}"), end(target.reach[0]), end(target.reach[1])],
            (Some(_), false) => vec![format!("m{c}")],
            (Some(of), true) => {
                let point = if of.median == 1 { format!("m{c}") } else { format!("m{c} + a{c}") };
                let variance = at_least(&format!("b{c} - a{c}*a{c}"), "0e0", dialect);
                let ends = target.reach.map(|reach| back(of, &end(reach), dialect));
                [point, format!("sqrt({variance})")].into_iter().chain(ends).collect()
            }
        };
        let names = formula.outputs(target);
        out.extend(names.iter().zip(values).map(|(name, value)| format!("{value} AS {}", column(name))));
    }
    out
}
