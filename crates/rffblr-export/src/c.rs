//! C99: one header with constant tables and functions that allocate nothing.

use crate::formula::{Cell, Column, Curve, Formula, Kind, Part, Terms};
use crate::{Names, text};
use std::fmt::Write;

/// One header; all its names begin with `prefix`.
pub(crate) fn header(formula: &Formula, prefix: &str) -> String {
    let guard = format!("{}_H", prefix.to_uppercase());
    let about = format!("/*\n{}\n */\n", crate::commented(&formula.about, " *").replace("*/", "* /"));
    // No name and no literal has the mark for the prefix in it.
    let mut out = String::new();
    let mut names = Names::new(KEYWORDS);
    let fields: Vec<String> = formula.inputs.iter().map(|input| names.identifier(&input.name)).collect();
    let (inputs, targets) = (declared(formula, &fields), formula.targets.len());
    let std = if formula.uncertain() { "" } else { "; this one has no std, lower and upper: they are NaN" };
    // Writing to a string does not fail.
    let _ = write!(
        out,
        "#ifndef {guard}\n#define {guard}\n\n#include <math.h>\n#include <stddef.h>\n#include <string.h>\n\n\
         /* A row. A missing number is NaN, a missing text NULL or \"\". */\nstruct @_inputs {{\n{inputs}}};\n\n\
         /* Of one target{std}. */\nstruct @_prediction {{\n    double value, std, lower, upper;\n}};\n\n\
         enum {{ @_TARGETS = {targets} }};\n{}\n\
         struct @_target {{\n    double shift, scale, noise, reach[2];\n    int shape; /* 0 none, 1 exp, 2 sinh */\n    \
         double centre, width, low, high, least, most;\n    int median;\n}};\n\n",
        listed(formula)
    );
    out += &include_str!("templates/model.h").replace("PREFIX", "@");
    out += &tables(formula);
    out += &predict(formula, &fields);
    let _ = write!(out, "\n#endif /* {guard} */\n");
    about + &out.replace('@', prefix)
}

fn declared(formula: &Formula, fields: &[String]) -> String {
    let field = |(input, field): (&crate::formula::Input, &String)| match input.kind {
        Kind::Number => format!("    double {field};\n"),
        Kind::Text => format!("    const char *{field};\n"),
        Kind::Date => format!("    double {field}; /* seconds since 1970-01-01 00:00 by the clock of the place */\n"),
        Kind::Time => format!("    double {field}; /* seconds since midnight */\n"),
    };
    formula.inputs.iter().zip(fields).map(field).collect()
}

/// The order of the targets.
fn listed(formula: &Formula) -> String {
    let names: Vec<String> = formula.targets.iter().map(|target| text::c(&target.name)).collect();
    format!("/* Their names, in order. */\nstatic const char *const @_names[@_TARGETS] = {{ {} }};\n", names.join(", "))
}

fn numbers(values: &[f64]) -> String {
    let lines: Vec<String> =
        values.chunks(6).map(|line| line.iter().map(|v| number(*v)).collect::<Vec<_>>().join(", ")).collect();
    lines.join(",\n    ")
}

/// A double, read back as it is.
fn number(value: f64) -> String {
    format!("{value:?}")
}

fn table(out: &mut String, name: &str, values: &[f64]) {
    if !values.is_empty() {
        let _ = write!(out, "static const double @_{name}[] = {{\n    {}\n}};\n", numbers(values));
    }
}

fn tables(formula: &Formula) -> String {
    let mut out = String::from("\n");
    let target = |t: &crate::formula::Target| {
        let [shift, scale, noise, low, high] = [t.shift, t.scale, t.noise, t.reach[0], t.reach[1]].map(number);
        let head = format!("{shift}, {scale}, {noise}, {{ {low}, {high} }}");
        let back = t.transform.first().map_or("0, 0, 0, 0, 0, 0, 0, 0".to_owned(), |b| {
            let shape = if b.shape == Curve::Exp { 1 } else { 2 };
            let numbers = [b.centre, b.width, b.low, b.high, b.least, b.most].map(number).join(", ");
            format!("{shape}, {numbers}, {}", b.median)
        });
        format!("    {{ {head}, {back} }}")
    };
    let targets: Vec<String> = formula.targets.iter().map(target).collect();
    let _ = write!(out, "static const struct @_target @_targets[@_TARGETS] = {{\n{}\n}};\n", targets.join(",\n"));
    let of = |value: fn(&Column) -> f64| formula.columns.iter().map(value).collect::<Vec<f64>>();
    table(&mut out, "mean", &of(|column| column.mean));
    table(&mut out, "scale", &of(|column| column.scale));
    for (p, part) in formula.parts.iter().enumerate() {
        match &part.terms {
            Terms::Waves { frequencies, phases, .. } => {
                table(&mut out, &format!("frequencies{p}"), &frequencies.concat());
                table(&mut out, &format!("phases{p}"), phases);
            }
            Terms::Kernel { rows, scales, .. } => {
                table(&mut out, &format!("rows{p}"), &rows.concat());
                table(&mut out, &format!("scales{p}"), scales);
            }
        }
        table(&mut out, &format!("weights{p}"), &part.weights.concat());
        for (s, spread) in part.spreads.iter().enumerate() {
            table(&mut out, &format!("factor{p}_{s}"), &spread.factor.concat());
            if !spread.terms.is_empty() {
                let terms: Vec<String> = spread.terms.iter().map(usize::to_string).collect();
                let _ = write!(out, "static const int @_terms{p}_{s}[] = {{ {} }};\n", terms.join(", "));
            }
        }
    }
    out
}

/// The value of an encoded column, before it is standardised.
fn cell(column: &Column, formula: &Formula, field: &str) -> String {
    let levels = || {
        let is = |level: &String| format!("strcmp({field}, {}) == 0", text::c(level));
        formula.inputs[column.input].levels.iter().map(is).collect::<Vec<_>>().join(" || ")
    };
    let is_text = formula.inputs[column.input].kind == Kind::Text;
    match &column.cell {
        Cell::Number { median } => format!("{field} != {field} ? {} : {field}", number(*median)),
        Cell::Missing {} if is_text => format!("!{field} || !*{field}"),
        Cell::Missing {} => format!("{field} != {field}"),
        Cell::Level { level } => format!("{field} && strcmp({field}, {}) == 0", text::c(level)),
        Cell::Rare {} => format!("{field} && *{field} && !({})", levels()),
        Cell::Unknown {} => format!("!{field} || !({})", levels()),
        Cell::Days { start, median } => {
            format!("{field} != {field} ? {} : ({field} - ({start:?})) / 86400", number(*median))
        }
        Cell::Cos { period, shift, whole } => format!("@_cycle({field}, {period:?}, {shift:?}, {whole}, 0)"),
        Cell::Sin { period, shift, whole } => format!("@_cycle({field}, {period:?}, {shift:?}, {whole}, 1)"),
    }
}

fn predict(formula: &Formula, fields: &[String]) -> String {
    let (columns, terms) = (formula.columns.len(), formula.parts.iter().map(|part| part.terms.count()).max());
    let mut out = format!(
        "\n/* Predicts one row. Gives 0, or 1 if an input is missing that must be there. */\n\
         static inline int @_predict(const struct @_inputs *in, struct @_prediction out[@_TARGETS])\n{{\n    \
         double z[{columns}], phi[{}], f[@_TARGETS] = {{ 0 }}, v[@_TARGETS] = {{ 0 }};\n    size_t i, c;\n",
        terms.unwrap_or(1)
    );
    for (input, field) in formula.inputs.iter().zip(fields).filter(|(input, _)| input.required == 1) {
        let missing = match input.kind {
            Kind::Text => format!("!in->{field} || !*in->{field}"),
            _ => format!("in->{field} != in->{field}"),
        };
        let _ = write!(out, "    if ({missing}) return 1;\n");
    }
    for (i, column) in formula.columns.iter().enumerate() {
        let _ = write!(out, "    z[{i}] = {};\n", cell(column, formula, &format!("in->{}", fields[column.input])));
    }
    let _ = write!(out, "    for (i = 0; i < {columns}; i++) z[i] = (z[i] - @_mean[i]) / @_scale[i];\n");
    formula.parts.iter().enumerate().for_each(|(p, part)| out += &computed(part, p, columns));
    out += "    for (c = 0; c < @_TARGETS; c++) @_finish(&@_targets[c], f[c], v[c], &out[c]);\n";
    if !formula.uncertain() {
        out += "    for (c = 0; c < @_TARGETS; c++) {\n        \
                out[c].value = @_back(&@_targets[c], @_targets[c].shift + @_targets[c].scale * f[c]);\n        \
                out[c].std = out[c].lower = out[c].upper = NAN;\n    }\n";
    }
    out + "    return 0;\n}\n"
}

/// Terms, means and variances of a part.
fn computed(part: &Part, p: usize, columns: usize) -> String {
    let (mut out, count) = (String::from("    {\n"), part.terms.count());
    match &part.terms {
        Terms::Waves { amplitude, phases, link, links, .. } => {
            let waves = phases.len();
            if waves > 0 {
                let _ = write!(
                    out,
                    "        for (i = 0; i < {waves}; i++)\n            phi[i] = {amplitude:?} * \
                     cos(@_dot(@_frequencies{p} + {columns} * i, z, {columns}) + @_phases{p}[i]);\n"
                );
            }
            for (k, d) in links.iter().enumerate() {
                let _ = write!(out, "        phi[{}] = {link:?} * z[{d}];\n", waves + k);
            }
            let _ = write!(out, "        phi[{}] = 1;\n", count - 1);
        }
        Terms::Kernel { linear, rbf, laplace, .. } => {
            let _ = write!(
                out,
                "        double prior = 1 + {linear:?} * @_dot(z, z, {columns}) + {:?};\n        \
                 for (i = 0; i < {count}; i++) {{\n            \
                 const double *row = @_rows{p} + {columns} * i;\n            \
                 double square = 0, absolute = 0;\n            \
                 for (c = 0; c < {columns}; c++) {{\n                \
                 square += (row[c] - z[c]) * (row[c] - z[c]);\n                \
                 absolute += @_scales{p}[c] * fabs(row[c] - z[c]);\n            }}\n            \
                 phi[i] = 1 + {linear:?} * @_dot(row, z, {columns}) + {:?} * exp(-{:?} * square) + {:?} * exp(-absolute);\n        \
                 }}\n        (void)prior;\n",
                rbf[0] + laplace[0],
                rbf[0],
                rbf[1],
                laplace[0]
            );
        }
    }
    for (i, task) in part.tasks.iter().enumerate() {
        let _ = write!(out, "        f[{task}] = @_dot(@_weights{p} + {}, phi, {count});\n", i * count);
    }
    for (s, spread) in part.spreads.iter().enumerate() {
        let (side, far) = (spread.factor.len(), far(part));
        let sum = match spread.terms.is_empty() {
            true => "sum = @_dot(line, phi, i + 1)".to_owned(),
            false => format!("for (c = 0; c <= i; c++) sum += line[c] * phi[@_terms{p}_{s}[c]]"),
        };
        let _ = write!(
            out,
            "        {{\n        const double *line = @_factor{p}_{s};\n        double left = 0, near = 0;\n        \
             for (i = 0; i < {side}; i++) {{\n            double sum = 0;\n            {sum};\n            left += sum * sum;\n            \
             line += i + 1;\n        }}\n"
        );
        if let Some(far) = far {
            let _ = write!(
                out,
                "        left = prior > left ? prior - left : 0;\n        near = {};\n        near = near < 0 ? 0 : near > 1 ? 1 : near;\n",
                if far > 0.0 { format!("1 - left / {far:?}") } else { "1".into() }
            );
        }
        for ((task, unit), correction) in spread.tasks.iter().zip(&spread.unit).zip(&spread.correction) {
            let _ = write!(out, "        v[{task}] = {unit:?} * left * (1 - {correction:?} * near);\n");
        }
        out += "        }\n";
    }
    out + "    }\n"
}

/// Of kernels, the variance far from all rows.
fn far(part: &Part) -> Option<f64> {
    match &part.terms {
        Terms::Kernel { rbf, laplace, .. } => Some(rbf[0] + laplace[0]),
        Terms::Waves { .. } => None,
    }
}

/// Words that cannot be names of fields.
const KEYWORDS: &[&str] = &[
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "class", "new",
    "delete", "this", "private", "public", "template", "operator", "and", "or", "not", "xor", "true", "false", "bool",
    "NULL", "NAN",
];
