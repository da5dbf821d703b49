//! Gives journals and the command their version with the commit they were built from, where that is known.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Git appends to this log whenever HEAD moves. A file that is not there would mean a rebuild every time.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).is_file()) {
        println!("cargo::rerun-if-changed={log}");
    }
    let version = env!("CARGO_PKG_VERSION");
    match commit() {
        Some(commit) => println!("cargo::rustc-env=RFFBLR_VERSION={version} ({commit})"),
        None => println!("cargo::rustc-env=RFFBLR_VERSION={version}"),
    }
}

/// The commit that is checked out; `None` outside a checkout of this very workspace.
fn commit() -> Option<String> {
    let top = Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()?;
    // Asked for when this runs: a copied target folder would have the path of another checkout compiled in.
    let here = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR")?).canonicalize().ok()?;
    if here.ancestors().nth(2) != Some(&top) {
        return None;
    }
    git(&["rev-parse", "--short=10", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
