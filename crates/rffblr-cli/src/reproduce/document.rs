//! A short text with tables and figures, as Markdown and as one HTML file.

use std::fmt::Write;

pub struct Document {
    pub title: String,
    pub blocks: Vec<Block>,
}

pub enum Block {
    Heading(String),
    Paragraph(String),
    Table(Table),
    /// A table whose cells are sentences.
    Words(Table),
    /// A picture as SVG, under this name beside the document.
    Figure {
        file: String,
        caption: String,
        svg: String,
    },
}

/// The first column labels the rows.
pub struct Table {
    pub header: Vec<String>,
    pub rows: Vec<Vec<Entry>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub text: String,
    pub is_bold: bool,
}

impl Entry {
    pub fn plain(text: impl Into<String>) -> Entry {
        Entry { text: text.into(), is_bold: false }
    }
}

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:16px/1.5 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse;display:block;overflow-x:auto;font-variant-numeric:tabular-nums;font-size:.85rem}\
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid #8884;white-space:nowrap}\
th:first-child,td:first-child,.words th,.words td{text-align:left}\
.words td{white-space:normal;vertical-align:top;min-width:7rem}\
figure{margin:1rem 0}figure svg{max-width:100%;height:auto;background:#fff}\
figcaption{font-size:.9rem}";

impl Document {
    pub fn markdown(&self) -> String {
        let mut out = format!("# {}\n", self.title);
        for block in &self.blocks {
            out.push('\n');
            match block {
                Block::Heading(text) => out += &format!("## {text}\n"),
                Block::Paragraph(text) => out += &format!("{text}\n"),
                Block::Figure { file, caption, .. } => out += &format!("![{caption}]({file})\n"),
                Block::Table(table) => out += &table.markdown("--:|"),
                Block::Words(table) => out += &table.markdown("---|"),
            }
        }
        out
    }

    pub fn html(&self) -> String {
        let title = escape(&self.title);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n<meta \
             name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n"
        );
        for (number, block) in self.blocks.iter().enumerate() {
            match block {
                Block::Heading(text) => out += &format!("<h2>{}</h2>\n", escape(text)),
                Block::Paragraph(text) => out += &format!("<p>{}</p>\n", escape(text)),
                Block::Figure { caption, svg, .. } => {
                    // Names inside a picture must not be those of another on the same page.
                    let svg = svg.find("<svg").map_or("", |start| &svg[start..]);
                    let svg = svg.replace("kuva-", &format!("figure{number}-"));
                    out += &format!("<figure>{svg}<figcaption>{}</figcaption></figure>\n", escape(caption));
                }
                Block::Table(table) => table.html(&mut out, ""),
                Block::Words(table) => table.html(&mut out, " class=\"words\""),
            }
        }
        out + "</body></html>\n"
    }
}

impl Table {
    /// `column` is what aligns every column but the first.
    fn markdown(&self, column: &str) -> String {
        let mut out = format!("| {} |\n", self.header.join(" | "));
        out += &format!("|---|{}\n", column.repeat(self.header.len().saturating_sub(1)));
        for row in &self.rows {
            let cells = row.iter().map(|entry| match entry.is_bold {
                true => format!("**{}**", entry.text),
                false => entry.text.clone(),
            });
            out += &format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
        }
        out
    }

    fn html(&self, out: &mut String, attributes: &str) {
        let header: String =
            self.header.iter().map(|name| format!("<th scope=\"col\">{}</th>", escape(name))).collect();
        let _ = writeln!(out, "<table{attributes}><thead><tr>{header}</tr></thead><tbody>");
        for row in &self.rows {
            let cells: String = row
                .iter()
                .map(|entry| match entry.is_bold {
                    true => format!("<td><strong>{}</strong></td>", escape(&entry.text)),
                    false => format!("<td>{}</td>", escape(&entry.text)),
                })
                .collect();
            let _ = writeln!(out, "<tr>{cells}</tr>");
        }
        out.push_str("</tbody></table>\n");
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_languages_say_the_same() {
        let bold = Entry { text: "0.5".into(), is_bold: true };
        let rows = vec![vec![Entry::plain("a<b"), bold]];
        let table = Table { header: vec!["set".into(), "R²".into()], rows };
        let words = Table { header: vec!["claim".into(), "verdict".into()], rows: Vec::new() };
        let svg = "<?xml?><svg id=\"kuva-clip-0\">1</svg>".into();
        let figure = Block::Figure { file: "f.svg".into(), caption: "look".into(), svg };
        let text = [Block::Heading("h".into()), Block::Paragraph("p & q".into())];
        let blocks = text.into_iter().chain([Block::Table(table), figure, Block::Words(words)]).collect();
        let document = Document { title: "T".into(), blocks };
        let markdown = "# T\n\n## h\n\np & q\n\n| set | R² |\n|---|--:|\n| a<b | **0.5** |\n\n![look](f.svg)\n\n\
                        | claim | verdict |\n|---|---|\n";
        assert_eq!(document.markdown(), markdown);
        let html = document.html();
        for part in [
            "<h2>h</h2>",
            "<p>p &amp; q</p>",
            "<td>a&lt;b</td><td><strong>0.5</strong></td>",
            "<figure><svg id=\"figure3-clip-0\">1</svg><figcaption>look</figcaption></figure>",
            "<table class=\"words\">",
        ] {
            assert!(html.contains(part), "{part}");
        }
    }
}
