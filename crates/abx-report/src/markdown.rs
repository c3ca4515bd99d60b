//! The language of Markdown: tables, code, and escaped text.

use crate::words::prose::{SentencePart, parts};
use crate::words::wrap::{clean, clean_name};

pub(crate) fn details(summary: &str, text: &str) -> String {
    let summary = escape(summary);
    format!("<details><summary>{summary}</summary>\n\n{text}\n</details>\n")
}

pub(crate) fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// Text on one line that Markdown shows literally, also within a table.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::new();
    let text = clean(text);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\n' => out.push(' '),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Unescaped, this would mention a user of that name.
            '@' if letters.peek().is_some_and(|next| next.is_alphanumeric()) => {
                out.push_str("@<!-- -->");
            }
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '|' | '~' | '#' | '$' => {
                out.push('\\');
                out.push(letter);
            }
            letter => out.push(letter),
        }
    }
    out
}

pub(crate) fn quoting(text: &str) -> String {
    let markdown = |part: SentencePart| match part {
        SentencePart::Words(words) => escape(words),
        SentencePart::Code(text) => code(text),
    };
    parts(text).map(markdown).collect()
}

/// Text as code, with more backticks around it than it contains in a row. Within tables, only the
/// bar needs a backslash there.
pub(crate) fn code(text: &str) -> String {
    let text = clean_name(text).replace('|', "\\|");
    let ticks = "`".repeat(longest_ticks(&text) + 1);
    if text.starts_with('`') || text.ends_with('`') {
        format!("{ticks} {text} {ticks}")
    } else {
        format!("{ticks}{text}{ticks}")
    }
}

pub(crate) fn fenced(text: &str) -> String {
    let text = clean(text);
    let fence = "`".repeat(longest_ticks(&text).max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

fn longest_ticks(text: &str) -> usize {
    let runs = text.split(|letter| letter != '`').map(str::len);
    runs.max().unwrap_or_default()
}
