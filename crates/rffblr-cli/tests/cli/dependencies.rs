//! What the program is made of, by the rules in deny.toml.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Whether an expression of licences, such as `(MIT OR Apache-2.0) AND ISC`, can be met by those that are allowed.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.trim();
    // The last OR outside brackets, or else the last AND, divides it.
    for word in [" OR ", "/", " AND "] {
        let mut depth = 0;
        for (at, letter) in expression.char_indices() {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            if depth == 0 && expression[at..].starts_with(word) {
                let (left, right) = (&expression[..at], &expression[at + word.len()..]);
                return match word {
                    " AND " => is_met(left, allowed) && is_met(right, allowed),
                    _ => is_met(left, allowed) || is_met(right, allowed),
                };
            }
        }
    }
    match expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(inner) => is_met(inner, allowed),
        None => allowed.iter().any(|licence| licence == expression),
    }
}

#[test]
fn expressions_of_licences() {
    let allowed = ["MIT", "ISC"].map(String::from);
    for met in ["MIT", "GPL-3.0 OR MIT", "MIT/Apache-2.0", "(GPL-3.0 OR MIT) AND ISC", "GPL-3.0 OR (MIT AND ISC)"] {
        assert!(is_met(met, &allowed), "{met}");
    }
    for unmet in ["", "GPL-3.0", "GPL-3.0 AND MIT", "(MIT OR ISC) AND GPL-3.0", "MIT WITH something"] {
        assert!(!is_met(unmet, &allowed), "{unmet}");
    }
}

#[test]
fn every_dependency_has_an_allowed_licence_and_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let rules: toml::Table = std::fs::read_to_string(root.join("deny.toml")).unwrap().parse().unwrap();
    let list = |section: &str, key: &str| -> Vec<String> {
        let found = rules[section][key].as_array().unwrap().iter();
        found.map(|value| value.as_str().unwrap().to_owned()).collect()
    };
    let (allowed, registries) = (list("licenses", "allow"), list("sources", "allow-registry"));
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let arguments = ["metadata", "--format-version=1", "--offline", "--locked", "--all-features"];
    let output = Command::new(cargo).args(arguments).current_dir(&root).output().unwrap();
    if !output.status.success() {
        println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100);
    for package in packages {
        let name = &package["name"];
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(is_met(licence, &allowed), "{name} has the licence {licence:?}");
        let source = package["source"].as_str();
        let known = |source: &str| registries.iter().any(|registry| source == format!("registry+{registry}"));
        assert!(source.is_none_or(known), "{name} is from {source:?}");
        assert!(!["openssl-sys", "native-tls"].iter().any(|banned| name == banned), "{name}");
    }
}

/// Every place that the compiler cannot check says why it is sound; a lint in `./check` sees the places, this also those that are
/// compiled for other systems.
#[test]
fn unsafe_code_has_its_proof() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders: Vec<_> = ["crates", "python/src", "tests"].iter().map(|name| root.join(name)).collect();
    let mut found = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let lines: Vec<&str> = text.lines().map(str::trim).collect();
                let opens =
                    |line: &str| line.contains(concat!("unsafe", " {")) || line.starts_with(concat!("unsafe", " impl"));
                for (at, line) in lines.iter().enumerate().filter(|(_, line)| opens(line) && !line.starts_with("//")) {
                    let proof = lines[at.saturating_sub(8)..=at].iter().any(|line| line.contains("SAFETY"));
                    assert!(proof, "{}:{}: {line}", path.display(), at + 1);
                    found += 1;
                }
            }
        }
    }
    assert!(found > 5, "{found}");
}
