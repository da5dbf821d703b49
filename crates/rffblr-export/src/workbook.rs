//! A workbook: type inputs on the first sheet and see predictions beside them; the sheets behind it are the formula.

use crate::formula::{Back, Cell, Column, Curve, Formula, Input, Kind, Part, SIDE, STEP, Spread, Terms};
use crate::text::xml;
use crate::{ExportError, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// What a cell holds.
enum Content {
    Number(f64),
    Text(String),
    Formula(String),
}

/// How it looks: the styles of the template below, in their order.
#[derive(Clone, Copy)]
enum Look {
    Plain = 0,
    Title = 1,
    Input = 2,
    DateInput = 3,
    TimeInput = 4,
}

/// A sheet; rows and columns count from one.
#[derive(Default)]
struct Sheet {
    name: String,
    cells: BTreeMap<(usize, usize), (Content, Look)>,
    /// Cells with a list to choose from, and where that list is.
    choices: Vec<(String, String)>,
    widths: &'static str,
}

impl Sheet {
    fn new(name: impl Into<String>) -> Sheet {
        Sheet { name: name.into(), ..Sheet::default() }
    }

    fn put(&mut self, row: usize, column: usize, content: Content) {
        self.cells.insert((row, column), (content, Look::Plain));
    }

    fn number(&mut self, row: usize, column: usize, value: f64) {
        self.put(row, column, Content::Number(value));
    }

    fn formula(&mut self, row: usize, column: usize, formula: impl Into<String>) {
        self.put(row, column, Content::Formula(formula.into()));
    }

    fn titles(&mut self, row: usize, first: usize, titles: &[&str]) {
        for (k, title) in titles.iter().enumerate() {
            self.cells.insert((row, first + k), (Content::Text((*title).into()), Look::Title));
        }
    }

    fn xml(&self) -> String {
        let mut rows = String::new();
        let mut open = 0;
        for (&(row, column), (content, look)) in &self.cells {
            if row != open {
                let end = if open > 0 { "</row>" } else { "" };
                // Writing to a string does not fail.
                let _ = write!(rows, "{end}<row r=\"{row}\">");
                open = row;
            }
            let (at, style) = (name(row, column), *look as u8);
            let _ = match content {
                Content::Number(value) => write!(rows, "<c r=\"{at}\" s=\"{style}\"><v>{value:e}</v></c>"),
                Content::Formula(formula) => write!(rows, "<c r=\"{at}\" s=\"{style}\"><f>{}</f></c>", xml(formula)),
                Content::Text(text) => write!(
                    rows,
                    "<c r=\"{at}\" s=\"{style}\" t=\"inlineStr\"><is><t xml:space=\"preserve\">{}</t></is></c>",
                    xml(text)
                ),
            };
        }
        rows += if open > 0 { "</row>" } else { "" };
        let choice = |(cell, list): &(String, String)| {
            let rule = "type=\"list\" allowBlank=\"1\" showErrorMessage=\"0\"";
            format!("<dataValidation {rule} sqref=\"{cell}\"><formula1>{}</formula1></dataValidation>", xml(list))
        };
        let choices: String = self.choices.iter().map(choice).collect();
        let count = self.choices.len();
        let choices = match count {
            0 => String::new(),
            _ => format!("<dataValidations count=\"{count}\">{choices}</dataValidations>"),
        };
        format!("{HEAD}<worksheet xmlns=\"{MAIN}\">{}<sheetData>{rows}</sheetData>{choices}</worksheet>", self.widths)
    }
}

/// B7 for row 7 of column 2.
fn name(row: usize, column: usize) -> String {
    let (mut letters, mut rest) = (String::new(), column);
    while rest > 0 {
        letters.insert(0, char::from(b'A' + ((rest - 1) % 26) as u8));
        rest = (rest - 1) / 26;
    }
    format!("{letters}{row}")
}

/// $B$7:$C$9, of a sheet.
fn range(sheet: &str, from: (usize, usize), to: (usize, usize)) -> String {
    let fixed = |(row, column): (usize, usize)| {
        let name = name(row, column);
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
        format!("${letters}${row}")
    };
    format!("{sheet}!{}:{}", fixed(from), fixed(to))
}

/// The first row of inputs, of encoded columns, of targets, and of terms.
const FIRST: usize = 4;
const ENCODED: usize = 2;
const TERMS: usize = 5;
/// The first column of a term's numbers.
const NUMBERS: usize = 3;

pub(crate) fn workbook(formula: &Formula) -> Result<Vec<u8>> {
    let mut sheets = vec![predict_sheet(formula), encoding_sheet(formula), targets_sheet(formula)];
    for (p, part) in formula.parts.iter().enumerate() {
        sheets.push(terms_sheet(part, p, formula.columns.len()));
        sheets.extend(part.spreads.iter().enumerate().map(|(s, spread)| spread_sheet(spread, p, s)));
    }
    let back = |(c, target): (usize, &crate::formula::Target)| Some(nodes_sheet(target.transform.first()?, c));
    if formula.uncertain() {
        sheets.extend(formula.targets.iter().enumerate().filter_map(back));
    }
    packed(&sheets).map_err(|problem| ExportError::Workbook(problem.to_string()))
}

/// What a person sees: inputs to the left, predictions to the right.
fn predict_sheet(formula: &Formula) -> Sheet {
    let mut sheet = Sheet::new("Predict");
    sheet.widths = "<cols><col min=\"1\" max=\"2\" width=\"22\" customWidth=\"1\"/><col min=\"4\" max=\"8\" width=\"18\" \
                    customWidth=\"1\"/></cols>";
    let about = formula.about.replace('\n', " ");
    sheet.put(1, 1, Content::Text(format!("{about} Type inputs into the coloured cells; an empty one is missing.")));
    sheet.titles(FIRST - 1, 1, &["input", "value"]);
    for (i, input) in formula.inputs.iter().enumerate() {
        let own: Vec<(usize, &Column)> =
            formula.columns.iter().enumerate().filter(|(_, column)| column.input == i).collect();
        sheet.put(FIRST + i, 1, Content::Text(input.name.clone()));
        let (start, look) = match (input.kind, own.first().map(|(_, column)| (&column.cell, column.mean))) {
            (Kind::Text, _) => (input.levels.first().map(|level| Content::Text(level.clone())), Look::Input),
            (Kind::Date, Some((Cell::Days { start, median }, _))) => {
                (Some(Content::Number(start / 86400.0 + median + 25569.0)), Look::DateInput)
            }
            (Kind::Time, Some((Cell::Days { median, .. }, _))) => (Some(Content::Number(*median)), Look::TimeInput),
            (_, Some((Cell::Number { median }, _))) if input.required == 0 => {
                (Some(Content::Number(*median)), Look::Input)
            }
            (_, Some((Cell::Number { .. }, mean))) => (Some(Content::Number(mean)), Look::Input),
            _ => (Some(Content::Number(0.0)), Look::Input),
        };
        let start = start.unwrap_or(Content::Text(String::new()));
        sheet.cells.insert((FIRST + i, 2), (start, look));
        if let (Kind::Text, Some((first, _))) = (input.kind, own.first()) {
            let (from, to) = ((ENCODED + first, 6), (ENCODED + first + input.levels.len() - 1, 6));
            sheet.choices.push((name(FIRST + i, 2), range("Encoding", from, to)));
        }
    }
    let titles: &[&str] = if formula.uncertain() {
        &["target", "prediction", "standard deviation", "lower", "upper"]
    } else {
        &["target", "prediction"]
    };
    sheet.titles(FIRST - 1, 4, titles);
    for (c, target) in formula.targets.iter().enumerate() {
        sheet.put(FIRST + c, 4, Content::Text(target.name.clone()));
        for k in 1..titles.len() {
            sheet.formula(FIRST + c, 4 + k, format!("Targets!{}", name(ENCODED + c, 7 + k)));
        }
    }
    sheet
}

/// Encoded columns: name of the input, value, mean, scale, z, level.
fn encoding_sheet(formula: &Formula) -> Sheet {
    let mut sheet = Sheet::new("Encoding");
    sheet.titles(1, 1, &["input", "value", "mean", "scale", "standardised", "level"]);
    for (d, column) in formula.columns.iter().enumerate() {
        let (row, input) = (ENCODED + d, &formula.inputs[column.input]);
        let first = formula.columns.iter().position(|other| other.input == column.input).unwrap_or(d);
        sheet.put(row, 1, Content::Text(input.name.clone()));
        if let Cell::Level { level } = &column.cell {
            sheet.put(row, 6, Content::Text(level.clone()));
        }
        sheet.formula(row, 2, encoded(column, input, row, ENCODED + first));
        sheet.number(row, 3, column.mean);
        sheet.number(row, 4, column.scale);
        sheet.formula(row, 5, format!("(B{row}-C{row})/D{row}"));
    }
    sheet
}

/// The value of an encoded column in a row of its sheet, where those of the input begin in row `first`.
fn encoded(column: &Column, input: &Input, row: usize, first: usize) -> String {
    let x = format!("Predict!$B${}", FIRST + column.input);
    let missing = |otherwise: &str| if input.required == 1 { "NA()".to_owned() } else { otherwise.to_owned() };
    // Of the levels, which come first.
    let known = format!("SUM(B{first}:B{})", first + input.levels.len().max(1) - 1);
    let days = if input.kind == Kind::Time { x.clone() } else { format!("({x}-25569)") };
    let wave = |name: &str, (period, shift, whole): (f64, f64, u8)| {
        let days = if whole == 1 { format!("INT({days})") } else { days.clone() };
        format!("IF({x}=\"\",{},{name}(2*PI()*MOD(({days}+{shift:e})/{period:e},1)))", missing("0"))
    };
    match &column.cell {
        Cell::Number { median } => format!("IF({x}=\"\",{},{x})", missing(&format!("{median:e}"))),
        Cell::Missing {} => format!("IF({x}=\"\",{},0)", missing("1")),
        Cell::Level { .. } => format!("IF({x}=\"\",{},IF(EXACT({x},F{row}),1,0))", missing("0")),
        Cell::Rare {} => format!("IF({x}=\"\",{},1-{known})", missing("0")),
        Cell::Unknown {} => format!("1-{known}"),
        Cell::Days { start, median } => {
            format!("IF({x}=\"\",{},{days}-({:e}))", missing(&format!("{median:e}")), start / 86400.0)
        }
        Cell::Cos { period, shift, whole } => wave("COS", (*period, *shift, *whole)),
        Cell::Sin { period, shift, whole } => wave("SIN", (*period, *shift, *whole)),
    }
}

/// The terms of a part, a row for each: the term, a phase, what it is made of, and the weights of the tasks.
fn terms_sheet(part: &Part, p: usize, columns: usize) -> Sheet {
    let mut sheet = Sheet::new(format!("Terms{p}"));
    sheet.titles(1, 1, &["term", "prior or phase", "inputs (row 2), what each term is made of, weights"]);
    let last = NUMBERS + columns - 1;
    let across = |row: usize| format!("{}:{}", name(row, NUMBERS), name(row, last));
    let z = range(&sheet.name, (2, NUMBERS), (2, last));
    for d in 0..columns {
        sheet.formula(2, NUMBERS + d, format!("Encoding!E{}", ENCODED + d));
    }
    match &part.terms {
        Terms::Waves { amplitude, frequencies, phases, link, links } => {
            for (k, (omega, phase)) in frequencies.iter().zip(phases).enumerate() {
                let row = TERMS + k;
                sheet.formula(row, 1, format!("{amplitude:e}*COS(SUMPRODUCT({z},{})+B{row})", across(row)));
                sheet.number(row, 2, *phase);
                omega.iter().enumerate().for_each(|(d, value)| sheet.number(row, NUMBERS + d, *value));
            }
            for (k, d) in links.iter().enumerate() {
                sheet.formula(TERMS + phases.len() + k, 1, format!("{link:e}*{}", name(2, NUMBERS + d)));
            }
            sheet.number(TERMS + phases.len() + links.len(), 1, 1.0);
        }
        Terms::Kernel { rows, linear, rbf, laplace, scales } => {
            let scale = range(&sheet.name, (3, NUMBERS), (3, last));
            scales.iter().enumerate().for_each(|(d, value)| sheet.number(3, NUMBERS + d, *value));
            sheet.formula(2, 2, format!("{:e}+{linear:e}*SUMSQ({z})", 1.0 + rbf[0] + laplace[0]));
            for (k, values) in rows.iter().enumerate() {
                let (row, own) = (TERMS + k, across(TERMS + k));
                let smooth = format!("{:e}*EXP(-{:e}*SUMXMY2({z},{own}))", rbf[0], rbf[1]);
                let rough = format!("{:e}*EXP(-SUMPRODUCT({scale},ABS({z}-{own})))", laplace[0]);
                sheet.formula(row, 1, format!("1+{linear:e}*SUMPRODUCT({z},{own})+{smooth}+{rough}"));
                values.iter().enumerate().for_each(|(d, value)| sheet.number(row, NUMBERS + d, *value));
            }
        }
    }
    for (i, weights) in part.weights.iter().enumerate() {
        weights.iter().enumerate().for_each(|(k, value)| sheet.number(TERMS + k, last + 2 + i, *value));
    }
    sheet
}

/// A covariance: the terms in the first column, a row of R in each other, and above it its product with the terms. The first
/// cell has the sum of their squares.
fn spread_sheet(spread: &Spread, p: usize, s: usize) -> Sheet {
    let (mut sheet, side) = (Sheet::new(format!("Spread{p}_{s}")), spread.factor.len());
    sheet.formula(1, 1, format!("SUMSQ({}:{})", name(1, 2), name(1, side + 1)));
    for k in 0..side {
        let term = spread.terms.get(k).copied().unwrap_or(k);
        sheet.formula(3 + k, 1, format!("Terms{p}!$A${}", TERMS + term));
    }
    for (i, line) in spread.factor.iter().enumerate() {
        let own = format!("{}:{}", name(3, 2 + i), name(2 + line.len(), 2 + i));
        sheet.formula(1, 2 + i, format!("SUMPRODUCT($A$3:$A${},{own})", 2 + line.len()));
        line.iter().enumerate().for_each(|(k, value)| sheet.number(3 + k, 2 + i, *value));
    }
    sheet
}

/// A row for each target: name, function, its variance, location, deviation, the ends on the scale of the fit; then prediction,
/// deviation and ends on the scale of the target.
fn targets_sheet(formula: &Formula) -> Sheet {
    let mut sheet = Sheet::new("Targets");
    let titles = ["target", "function", "variance", "location", "deviation", "low end", "high end"];
    sheet.titles(1, 1, &titles);
    sheet.titles(1, 8, &["prediction", "standard deviation", "lower", "upper"]);
    for (c, target) in formula.targets.iter().enumerate() {
        let (row, columns) = (ENCODED + c, formula.columns.len());
        sheet.put(row, 1, Content::Text(target.name.clone()));
        for (p, part) in formula.parts.iter().enumerate() {
            let (sheet_name, last) = (format!("Terms{p}"), TERMS + part.terms.count() - 1);
            if let Some(i) = part.tasks.iter().position(|task| *task == c) {
                let weights = NUMBERS + columns + 1 + i;
                let terms = range(&sheet_name, (TERMS, 1), (last, 1));
                let weights = range(&sheet_name, (TERMS, weights), (last, weights));
                sheet.formula(row, 2, format!("SUMPRODUCT({terms},{weights})"));
            }
            for (s, spread) in part.spreads.iter().enumerate() {
                // The corrections of machines of many rows do not occur in ones small enough for this.
                if let Some(i) = spread.tasks.iter().position(|task| *task == c) {
                    let total = format!("Spread{p}_{s}!$A$1");
                    let kernel = matches!(part.terms, Terms::Kernel { .. });
                    let left = if kernel { format!("MAX(Terms{p}!$B$2-{total},0)") } else { total };
                    sheet.formula(row, 3, format!("{:e}*{left}", spread.unit[i]));
                }
            }
        }
        sheet.formula(row, 4, format!("{:e}+{:e}*B{row}", target.shift, target.scale));
        let back = target.transform.first();
        let value = |u: String| back.map_or(u.clone(), |back| restored(back, &u));
        sheet.formula(row, 8, value(format!("D{row}")));
        if !formula.uncertain() {
            continue;
        }
        sheet.formula(row, 5, format!("{:e}*SQRT(C{row}+{:e})", target.scale, target.noise));
        for (k, reach) in target.reach.iter().enumerate() {
            sheet.formula(row, 6 + k, format!("D{row}+({reach:e})*E{row}"));
            sheet.formula(row, 10 + k, value(name(row, 6 + k)));
        }
        sheet.formula(row, 9, format!("E{row}"));
        if let Some(back) = back {
            let nodes = |column: usize| range(&format!("Nodes{c}"), (2, column), (2 + 2 * SIDE as usize, column));
            let (weights, values) = (nodes(2), nodes(3));
            let (first, second) =
                (format!("SUMPRODUCT({weights},{values})"), format!("SUMPRODUCT({weights},{values},{values})"));
            sheet.formula(row, 9, format!("SQRT(MAX({second}-({first})*({first}),0))"));
            if back.median == 0 {
                sheet.formula(row, 8, format!("{}+{first}", restored(back, &format!("D{row}"))));
            }
        }
    }
    sheet
}

/// The way back from the scale of a transform.
fn restored(back: &Back, u: &str) -> String {
    let Back { centre, width, low, high, least, most, .. } = back;
    let curve = if back.shape == Curve::Exp { "EXP" } else { "SINH" };
    format!("MIN({most:e},MAX({least:e},{centre:e}+{width:e}*{curve}(MIN({high:e},MAX({low:e},{u})))))")
}

/// Nodes, weights and values of the mean of a transformed target.
fn nodes_sheet(back: &Back, c: usize) -> Sheet {
    let mut sheet = Sheet::new(format!("Nodes{c}"));
    sheet.titles(1, 1, &["node", "weight", "value minus median"]);
    let weight = |k: i32| (-0.5 * (STEP * f64::from(k)).powi(2)).exp();
    let total: f64 = (-SIDE..=SIDE).map(weight).sum();
    let target = |column: &str| format!("Targets!${column}${}", ENCODED + c);
    for (row, k) in (2..).zip(-SIDE..=SIDE) {
        sheet.number(row, 1, STEP * f64::from(k));
        sheet.number(row, 2, weight(k) / total);
        let u = format!("{}+{}*A{row}", target("D"), target("E"));
        sheet.formula(row, 3, format!("{}-{}", restored(back, &u), restored(back, &target("D"))));
    }
    sheet
}

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
const TYPES: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml";

/// Plain, bold, and coloured for numbers, dates and times.
const STYLES: &str = "<fonts count=\"2\"><font/><font><b/></font></fonts><fills count=\"3\"><fill><patternFill \
    patternType=\"none\"/></fill><fill><patternFill patternType=\"gray125\"/></fill><fill><patternFill patternType=\"solid\">\
    <fgColor rgb=\"FFFFF2CC\"/></patternFill></fill></fills><borders count=\"1\"><border/></borders><cellStyleXfs count=\"1\">\
    <xf/></cellStyleXfs><cellXfs count=\"5\"><xf/><xf fontId=\"1\" applyFont=\"1\"/><xf fillId=\"2\" applyFill=\"1\"/>\
    <xf numFmtId=\"22\" fillId=\"2\" applyFill=\"1\" applyNumberFormat=\"1\"/><xf numFmtId=\"21\" fillId=\"2\" applyFill=\"1\" \
    applyNumberFormat=\"1\"/></cellXfs><cellStyles count=\"1\"><cellStyle name=\"Normal\" xfId=\"0\" builtinId=\"0\"/>\
    </cellStyles>";

/// The files of a workbook in their archive.
fn packed(sheets: &[Sheet]) -> std::result::Result<Vec<u8>, Box<dyn std::error::Error>> {
    let (mut types, mut list, mut links) = (String::new(), String::new(), String::new());
    let mut files: Vec<(String, String)> = Vec::new();
    for (k, sheet) in (1..).zip(sheets) {
        write!(types, "<Override PartName=\"/xl/worksheets/sheet{k}.xml\" ContentType=\"{TYPES}.worksheet+xml\"/>")?;
        write!(list, "<sheet name=\"{}\" sheetId=\"{k}\" r:id=\"r{k}\"/>", xml(&sheet.name))?;
        write!(links, "<Relationship Id=\"r{k}\" Type=\"{RELATIONS}/worksheet\" Target=\"worksheets/sheet{k}.xml\"/>")?;
        files.push((format!("xl/worksheets/sheet{k}.xml"), sheet.xml()));
    }
    let book = format!(
        "<workbook xmlns=\"{MAIN}\" xmlns:r=\"{RELATIONS}\"><sheets>{list}</sheets><calcPr fullCalcOnLoad=\"1\"/></workbook>"
    );
    let style = format!("<Relationship Id=\"style\" Type=\"{RELATIONS}/styles\" Target=\"styles.xml\"/>");
    let root = format!("<Relationship Id=\"book\" Type=\"{RELATIONS}/officeDocument\" Target=\"xl/workbook.xml\"/>");
    let linked = |links: &str| format!("<Relationships xmlns=\"{PACKAGE}/relationships\">{links}</Relationships>");
    let defaults = "<Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
                    <Default Extension=\"xml\" ContentType=\"application/xml\"/>";
    let main = format!("<Override PartName=\"/xl/workbook.xml\" ContentType=\"{TYPES}.sheet.main+xml\"/>");
    let styles = format!("<Override PartName=\"/xl/styles.xml\" ContentType=\"{TYPES}.styles+xml\"/>");
    let types = format!("<Types xmlns=\"{PACKAGE}/content-types\">{defaults}{main}{styles}{types}</Types>");
    let first = [
        ("[Content_Types].xml", types),
        ("_rels/.rels", linked(&root)),
        ("xl/workbook.xml", book),
        ("xl/_rels/workbook.xml.rels", linked(&(links + &style))),
        ("xl/styles.xml", format!("<styleSheet xmlns=\"{MAIN}\">{STYLES}</styleSheet>")),
    ];
    let first = first.into_iter().map(|(name, text)| (name.to_owned(), HEAD.to_owned() + &text));
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in first.chain(files) {
        archive.start_file(name, SimpleFileOptions::default())?;
        archive.write_all(text.as_bytes())?;
    }
    Ok(archive.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_the_names_of_spreadsheets() {
        let named = [1, 26, 27, 52, 702, 703].map(|column| name(7, column));
        assert_eq!(named, ["A7", "Z7", "AA7", "AZ7", "ZZ7", "AAA7"]);
        assert_eq!(range("S", (2, 3), (2, 28)), "S!$C$2:$AB$2");
    }
}
