//! Words of a command that only a shell understands.

/// The first word of a command that is one of a shell: a builtin in front, or an operator that
/// is not in quotes. `command` is the text that was split into `words`.
#[must_use]
pub fn shell_word<'a>(words: &'a [String], command: &str) -> Option<&'a String> {
    words.iter().find(|word| is_of_shell(word, command))
}

fn is_of_shell(word: &str, command: &str) -> bool {
    let is_operator = matches!(
        word,
        "&&" | "||" | ";" | "|" | "&" | ">" | ">>" | "<" | "2>&1"
    );
    let is_quoted = ["'", "\""]
        .iter()
        .any(|quote| command.contains(&format!("{quote}{word}{quote}")));
    let is_first = command.trim_start().starts_with(word);
    let is_builtin = matches!(word, "cd" | "export" | "source" | "ulimit") || word.ends_with(';');
    (is_operator && !is_quoted) || (is_first && is_builtin)
}

/// Whether a word sets a variable for the command after it, as shells read it.
#[must_use]
pub fn is_variable(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && !name.as_bytes()[0].is_ascii_digit() && name.bytes().all(fits)
}
