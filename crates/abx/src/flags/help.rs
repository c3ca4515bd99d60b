//! The shape of help texts: what `-h` shows, and what only `--help` shows.

use clap::Arg;

/// Leaves a flag out of `-h` unless it is one of `shown`, which most users need.
pub fn brief(argument: Arg, shown: &[&str]) -> Arg {
    let is_shown = argument.is_positional() || shown.contains(&argument.get_id().as_str());
    argument.hide_short_help(!is_shown)
}

/// Leaves a flag out of every help text of a command that refuses it. The command still parses the
/// flag, so that its message can name the replacement.
pub fn without(argument: Arg, is_refused: impl Fn(&Arg) -> bool) -> Arg {
    if is_refused(&argument) {
        argument.hide(true)
    } else {
        argument
    }
}
