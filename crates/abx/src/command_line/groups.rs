//! The commands in `abx --help`, grouped by task.

use clap::Command;

/// Each group with its commands, the most used first. A build may lack some of them.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Measure",
        &["compare", "bisect", "run", "study", "serve", "cache"],
    ),
    ("Read results", &["report", "explain", "history", "view"]),
    ("Check", &["doctor", "audit", "timer"]),
    ("Several machines", &["agent", "collect", "bus"]),
    (
        "Other tools and the shell",
        &["ab", "httperf", "completions", "manual"],
    ),
];

/// Lists the subcommands of a command by group in its help.
pub fn grouped(command: Command) -> Command {
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\
         Options:\n{{options}}{{after-help}}",
        list(&command)
    );
    command.help_template(template)
}

/// A heading per group, and a line per command.
fn list(command: &Command) -> String {
    let width = GROUPS.iter().flat_map(|(_, names)| *names);
    let width = width.map(|name| name.len()).max().unwrap_or_default();
    let line = |name: &&str| {
        let about = command.find_subcommand(name)?.get_about()?.to_string();
        Some(format!("  {name:width$}  {about}\n"))
    };
    let group = |(heading, names): &(&str, &[&str])| {
        let lines: String = names.iter().filter_map(line).collect();
        match lines.as_str() {
            "" => String::new(),
            lines => format!("{heading}:\n{lines}\n"),
        }
    };
    GROUPS.iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::cli::shown;

    #[test]
    fn every_command_is_in_one_group() {
        // Method: the visible commands of this build, each on one line of the help.
        let help = grouped(shown()).render_help().to_string();
        for command in shown().get_subcommands() {
            let start = format!("  {} ", command.get_name());
            let lines = help.lines().filter(|line| line.starts_with(&start));
            assert_eq!(lines.count(), 1, "{}: {help}", command.get_name());
        }
        assert!(help.contains("Measure:\n  compare "), "{help}");
    }
}
