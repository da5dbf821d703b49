//! `docs/settings.md` is the library's table of settings; `UPDATE=1 cargo test -p rffblr reference` writes it.

use rffblr::{PRESETS, SETTINGS};

fn page() -> String {
    let mut page = String::from(
        "# Settings\n\nMade from the table in `crates/rffblr/src/settings/table.rs`, which also makes the flags of `rffblr fit` \
         (`--max-iterations 50`),\nthe lines of a `--config` file (`max_iterations = 50`) and the parameters of \
         `RFFBLRRegressor` (`max_iterations=50`).\n\n| preset | what |\n|---|---|\n",
    );
    for (name, _, meaning) in PRESETS {
        page += &format!("| `{name}` | {meaning} |\n");
    }
    page += "\nGiven without a preset, `features` alone chooses the preset `cosines`, another setting of cosines the preset \
             `paper`; with\nthe preset `default` or `exact` it is refused.\n";
    for (title, of_cosines) in [
        ("Every form", false),
        ("Cosines (all in presets `paper` and `authors`, `features` and `precision` also in `cosines`)", true),
    ] {
        page += &format!("\n## {title}\n\n| setting | values | meaning | in the presets |\n|---|---|---|---|\n");
        for setting in SETTINGS.iter().filter(|setting| setting.of_cosines == of_cosines) {
            let values = setting.values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
            page += &format!("| `{}` | {values} | {} | {} |\n", setting.name, setting.meaning, setting.defaults());
        }
    }
    page
}

#[test]
fn the_reference_page_is_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, page()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), page(), "docs/settings.md: UPDATE=1 writes it");
}
