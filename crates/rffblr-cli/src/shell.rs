//! `rffblr completions` and `rffblr man`: made from the same definitions that read the command line.

use crate::output;
use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(before_long_help = "\
Examples:
  rffblr completions bash > ~/.local/share/bash-completion/completions/rffblr
  rffblr completions zsh > ~/.zfunc/_rffblr
  rffblr completions fish > ~/.config/fish/completions/rffblr.fish")]
pub struct Completions {
    /// Shell to write the completions for
    shell: clap_complete::Shell,
}

pub fn completions(arguments: &Completions) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::Cli::command(), "rffblr", &mut script);
    output::print_data(&String::from_utf8_lossy(&script))
}

#[derive(clap::Args)]
#[command(before_long_help = "\
Examples:
  rffblr man ~/.local/share/man/man1     then: man rffblr, man rffblr-evaluate")]
pub struct Man {
    /// Folder to write the pages into; it is made if it is not there
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Replace pages that are there already
    #[arg(long)]
    force: bool,
}

pub fn man(arguments: &Man) -> Result<()> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut command = crate::Cli::command().disable_help_subcommand(true);
    // Gives every command below its full name and the options that hold for all.
    command.build();
    let mut commands = vec![&command];
    let mut next = 0;
    while let Some(&above) = commands.get(next) {
        commands.extend(above.get_subcommands());
        next += 1;
    }
    let path = |page: &clap_mangen::Man| folder.join(page.get_filename());
    let pages: Vec<_> = commands.iter().map(|&command| (manual(command), command)).collect();
    // All are checked before the first is written.
    for (page, _) in &pages {
        output::expect_free(&path(page), arguments.force)?;
    }
    for (page, command) in &pages {
        output::save(&path(page), arguments.force, |out| {
            page.render(out)?;
            Ok(out.write_all(examples(command).as_bytes())?)
        })?;
        output::print(&format!("{}\n", path(page).display()))?;
    }
    Ok(())
}

/// The examples of the help as a section of a manual page, line by line as they stand.
fn examples(command: &Command) -> String {
    let Some(help) = command.get_before_long_help().or(command.get_before_help()) else {
        return String::new();
    };
    let help = help.to_string().replace('\\', "\\e").replace('-', "\\-");
    let lines = help.lines().skip(1).map(|line| format!("\\&{}\n", line.trim_start()));
    format!(".SH EXAMPLES\n.nf\n{}.fi\n", lines.collect::<String>())
}

fn manual(command: &Command) -> clap_mangen::Man {
    clap_mangen::Man::new(command.clone()).source(format!("rffblr {}", crate::VERSION))
}
