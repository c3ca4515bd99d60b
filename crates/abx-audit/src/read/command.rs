//! The command that made a report, if it is above the report.

use crate::figure::PrintedFigure;
use crate::report::{FigureKey, LoadTool, ToolReport};
use crate::text::TextLine;

/// A tool's flags.
struct Flags {
    tool: LoadTool,
    program: &'static str,
    /// Letters of flags that have a value.
    with_value: &'static str,
    values: &'static [(&'static str, FigureKey)],
}

const ALL: &[Flags] = &[
    Flags {
        tool: LoadTool::Ab,
        program: "ab",
        with_value: "nctsbBpuTvxyzCHAPXgemZfEWRo",
        values: &[
            ("-n", FigureKey::AskedRequests),
            ("-c", FigureKey::AskedConnections),
        ],
    },
    Flags {
        tool: LoadTool::Wrk,
        program: "wrk",
        with_value: "ctdsHT",
        values: &[
            ("-c", FigureKey::AskedConnections),
            ("--connections", FigureKey::AskedConnections),
        ],
    },
    Flags {
        tool: LoadTool::Wrk2,
        program: "wrk2",
        with_value: "ctdsHTRB",
        values: &[
            ("-c", FigureKey::AskedConnections),
            ("-R", FigureKey::AskedRate),
            ("--rate", FigureKey::AskedRate),
        ],
    },
    Flags {
        tool: LoadTool::Hey,
        program: "hey",
        with_value: "ncqzmHtAdDTax",
        values: &[
            ("-n", FigureKey::AskedRequests),
            ("-c", FigureKey::AskedConnections),
            ("-q", FigureKey::AskedRate),
        ],
    },
    Flags {
        tool: LoadTool::Oha,
        program: "oha",
        with_value: "ncqzpmHtAdDTax",
        values: &[
            ("-n", FigureKey::AskedRequests),
            ("-c", FigureKey::AskedConnections),
            ("-q", FigureKey::AskedRate),
            ("-p", FigureKey::AskedStreams),
        ],
    },
    Flags {
        tool: LoadTool::H2load,
        program: "h2load",
        with_value: "nctimwWpdHrDTNB",
        values: &[
            ("-n", FigureKey::AskedRequests),
            ("-c", FigureKey::AskedConnections),
            ("-m", FigureKey::AskedStreams),
            ("--rps", FigureKey::AskedRate),
            ("-r", FigureKey::AskedRate),
        ],
    },
    Flags {
        tool: LoadTool::Siege,
        program: "siege",
        with_value: "cdrtflHAT",
        values: &[("-c", FigureKey::AskedConnections)],
    },
];

/// The parts of a command line that matter here.
struct Command {
    tool: LoadTool,
    line: usize,
    keep_alive: bool,
    values: Vec<(FigureKey, PrintedFigure)>,
}

/// Adds the settings of the nearest command above each report.
pub(super) fn attach(lines: &[TextLine], reports: &mut [ToolReport]) {
    let commands: Vec<Command> = lines.iter().filter_map(command).collect();
    // Nearest first.
    let near = |line: usize| {
        let above = commands.partition_point(|command| command.line <= line);
        let upwards = commands[..above].iter().rev();
        upwards.take_while(move |command| line - command.line <= FAR)
    };
    let mut previous_end = 0;
    for report in reports {
        let made = |command: &&Command| {
            let is_wrk = matches!(
                (command.tool, report.tool),
                (LoadTool::Wrk, LoadTool::Wrk2) | (LoadTool::Wrk2, LoadTool::Wrk)
            );
            command.line > previous_end && (is_wrk || command.tool == report.tool)
        };
        if let Some(command) = near(report.line).find(made) {
            // siege reads its settings from a file.
            let is_shown = report.tool != LoadTool::Siege || !command.keep_alive;
            report.asked_keep_alive = Some(command.keep_alive).filter(|_| is_shown);
            for (key, figure) in &command.values {
                report.figures.entry(*key).or_insert_with(|| figure.clone());
            }
            let rate = FigureKey::AskedRate;
            // wrk2's program is often called wrk.
            if report.tool == LoadTool::Wrk && report.figures.contains_key(&rate) {
                report.tool = LoadTool::Wrk2;
            }
            report.line = report.line.min(command.line);
        }
        previous_end = report.last_line;
    }
}

/// The command in a line, with or without a prompt.
fn command(line: &TextLine) -> Option<Command> {
    let text = line.text.trim_start();
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_program = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or(word);
        ALL.iter().find(|flags| flags.program == name)
    };
    let is_prompt =
        |word: &str| word.ends_with(['$', '#', '%', '>']) || word == "time" || word == "sudo";
    let place = words.iter().position(|word| !is_prompt(word))?;
    let flags = is_program(words[place])?;
    let rest = &words[place + 1..];
    let has_flag = rest.iter().any(|word| word.starts_with('-'));
    let has_url = rest.iter().any(|word| word.contains("://"));
    if !has_flag && !has_url {
        return None;
    }
    let mut command = Command {
        tool: flags.tool,
        line: line.number,
        keep_alive: flags.tool != LoadTool::Ab,
        values: Vec::new(),
    };
    if flags.tool == LoadTool::Wrk && rest.iter().any(|word| word.starts_with("-R")) {
        command.tool = LoadTool::Wrk2;
    }
    let all_flags = ALL.iter().find(|flags| flags.tool == command.tool)?;
    let lower = text.to_ascii_lowercase();
    if lower.contains("connection: close") || lower.contains("-disable-keepalive") {
        command.keep_alive = false;
    }
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        let (name, attached) = split(word, all_flags.with_value);
        if command.tool == LoadTool::Ab && is_keep_alive(word, all_flags.with_value) {
            command.keep_alive = true;
        }
        let Some((_, key)) = all_flags.values.iter().find(|(flag, _)| *flag == name) else {
            continue;
        };
        let value = attached.or_else(|| rest.next().copied());
        if let Some(figure) = value.and_then(|value| exact(value, line.number)) {
            command.values.push((*key, figure));
        }
    }
    Some(command)
}

/// A flag and the value that is attached to it: `-c500`, `-kc500`, `--rps=9`.
fn split<'a>(word: &'a str, with_value: &str) -> (String, Option<&'a str>) {
    if word.starts_with("--") {
        return match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value)),
            None => (word.to_owned(), None),
        };
    }
    let Some(letters) = word.strip_prefix('-') else {
        return (String::new(), None);
    };
    for (place, letter) in letters.char_indices() {
        if with_value.contains(letter) {
            let rest = &letters[place + letter.len_utf8()..];
            return (
                format!("-{letter}"),
                Some(rest).filter(|rest| !rest.is_empty()),
            );
        }
    }
    (word.to_owned(), None)
}

/// Whether this word has ab's -k among its letters.
fn is_keep_alive(word: &str, with_value: &str) -> bool {
    let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
        return false;
    };
    letters
        .chars()
        .take_while(|letter| !with_value.contains(*letter))
        .any(|letter| letter == 'k')
}

fn exact(value: &str, line: usize) -> Option<PrintedFigure> {
    let number: f64 = value
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number >= 0.0)?;
    Some(PrintedFigure {
        printed: value.to_owned(),
        value: number,
        low: number,
        high: number,
        line,
    })
}

/// The largest distance in lines between a command and its report.
const FAR: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(LoadTool, bool, Vec<String>)> {
        let text = text.to_owned();
        let command = command(&TextLine { number: 1, text })?;
        let values = command.values.into_iter();
        let values = values.map(|(_, value)| value.printed).collect();
        Some((command.tool, command.keep_alive, values))
    }

    #[test]
    fn flags_are_read_as_their_tool_reads_them() {
        // Method: prompts, attached values, combined letters, and sentences.
        use LoadTool::{Ab, Hey, Wrk, Wrk2};
        let values = |texts: &[&str]| -> Vec<String> {
            texts.iter().map(|text| (*text).to_owned()).collect()
        };
        let table = [
            (
                "$ ab -n 5000 -c 500 http://x/",
                Some((Ab, false, values(&["5000", "500"]))),
            ),
            (
                "me@host:~$ /usr/bin/ab -kc500 -n 9 x/",
                Some((Ab, true, values(&["500", "9"]))),
            ),
            (
                "ab -H keep -c 5 http://x/",
                Some((Ab, false, values(&["5"]))),
            ),
            (
                "wrk -t2 -c100 http://x/",
                Some((Wrk, true, values(&["100"]))),
            ),
            (
                "wrk -c100 -R2000 http://x/",
                Some((Wrk2, true, values(&["100", "2000"]))),
            ),
            (
                "hey -disable-keepalive -c 5 http://x",
                Some((Hey, false, values(&["5"]))),
            ),
            ("ab is a tool", None),
            ("the ab -n 5 run", None),
        ];
        for (text, expected) in table {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
