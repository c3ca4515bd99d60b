//! One report in many layouts: the figures are the same.

use abx_audit::{Audit, LoadTool};

use crate::{figures, of, of_texts, text};

const AB: &str = "event-servers-nginx.ab.txt";
const HTTPERF: &str = "app-server.httperf.txt";

/// Checks that a layout does not change the figures of two reports.
fn is_the_same(layout: impl Fn(&str) -> String) {
    for name in [AB, HTTPERF] {
        let plain = text(name);
        let laid_out = layout(&plain);
        let audit = of(&laid_out);
        assert_eq!(
            figures(&audit),
            figures(&of(&plain)),
            "{name} in\n{laid_out}"
        );
        assert_eq!(audit.files[0].unread, [], "{name}");
    }
}

#[test]
fn layouts_do_not_change_figures() {
    // Method: line ends, indentation, quote marks, colours, unusual spaces, and a web page.
    is_the_same(|text| text.replace('\n', "\r\n"));
    is_the_same(|text| text.replace('\n', "\r"));
    is_the_same(|text| text.lines().map(|line| format!("      {line}\n")).collect());
    is_the_same(|text| text.lines().map(|line| format!("> > {line}\n")).collect());
    is_the_same(|text| text.lines().map(|line| format!("\t{line}\n")).collect());
    is_the_same(|text| {
        text.lines()
            .map(|line| format!("\x1b[0;32m{line}\x1b[0m\n"))
            .collect()
    });
    is_the_same(|text| text.replace("  ", "\u{a0}\u{2003}"));
    is_the_same(|text| text.replace(": ", ":\u{200b}\u{202f}"));
    is_the_same(|text| {
        let text = text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        format!("<p>We measured:</p>\n<pre><code>{text}</code></pre>\n<p>So.</p>\n")
    });
    is_the_same(|text| text.lines().map(|line| format!("{line}\n\n")).collect());
}

#[test]
fn lines_may_be_joined_and_broken_anywhere_between_words() {
    // Method: a report in one line, and in lines of 37 and of 61 letters.
    is_the_same(|text| text.split_whitespace().collect::<Vec<_>>().join(" ") + "\n");
    for width in [37, 61] {
        is_the_same(|text| {
            let mut out = String::new();
            let mut used = 0;
            for word in text.split_whitespace() {
                if used + word.len() > width {
                    out.push('\n');
                    used = 0;
                }
                out.push_str(word);
                out.push(' ');
                used += word.len() + 1;
            }
            out
        });
    }
}

#[test]
fn prose_is_not_read_as_a_report() {
    // Method: reports among sentences in three languages, some with the words of reports.
    let reports = [text(AB), text(HTTPERF)];
    let between = [
        "Requests per second: the more the better. Total: nothing yet.\n",
        "Die Ergebnisse auf meinem Rechner (Anfragen pro Sekunde: siehe unten) mit 50% Last:\n\n",
        "Wyniki: średnio 1,5 raza szybciej. 結果：毎秒のリクエスト数。\n\n",
    ];
    let document = format!(
        "{}{}{}{}{}",
        between[0], reports[0], between[1], reports[1], between[2]
    );
    let audit = of(&document);
    let tools: Vec<LoadTool> = audit.reports.iter().map(|report| report.tool).collect();
    assert_eq!(tools, [LoadTool::Ab, LoadTool::Httperf]);
    let alone = [of(&reports[0]), of(&reports[1])];
    assert_eq!(
        figures(&audit),
        alone.iter().flat_map(figures).collect::<Vec<_>>()
    );
    assert_eq!(audit.files[0].unread, []);
    for text in between {
        assert_eq!(of(text).reports, [], "{text}");
    }
}

/// Several texts side by side, line by line.
fn side_by_side(texts: &[String], layout: impl Fn(&[&str]) -> String) -> String {
    let lines: Vec<Vec<&str>> = texts.iter().map(|text| text.lines().collect()).collect();
    let most = lines.iter().map(Vec::len).max().unwrap_or_default();
    (0..most)
        .map(|row| {
            let cells: Vec<&str> = lines
                .iter()
                .map(|column| column.get(row).copied().unwrap_or_default())
                .collect();
            layout(&cells) + "\n"
        })
        .collect()
}

#[test]
fn reports_side_by_side_are_separated() {
    // Method: two and three reports, in columns separated by spaces, by bars, and by tabs as
    // `paste` writes them.
    let names = [
        "event-servers-libevent1.ab.txt",
        "event-servers-nginx.ab.txt",
        "event-servers-shortfin.ab.txt",
    ];
    let texts = names.map(text);
    let padded = |cells: &[&str], gap: &str| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:<76}")).collect();
        cells.join(gap)
    };
    for count in [2, 3] {
        let shown = &texts[..count];
        let plain: Vec<_> = shown.iter().flat_map(|text| figures(&of(text))).collect();
        let layouts: [Audit; 3] = [
            of(&side_by_side(shown, |cells| padded(cells, "  "))),
            of(&side_by_side(shown, |cells| padded(cells, " | "))),
            of(&side_by_side(shown, |cells| cells.join("\t"))),
        ];
        for (number, audit) in layouts.iter().enumerate() {
            let mut actual = figures(audit);
            let mut expected = plain.clone();
            actual.sort();
            expected.sort();
            assert_eq!(actual, expected, "{count} in layout {number}");
        }
    }
}

#[test]
fn several_reports_in_a_file_are_named_after_their_lines() {
    // Method: two reports in sequence, and the same report twice.
    let first = text("event-servers-libevent1.ab.txt");
    let second = text("event-servers-node.ab.txt");
    let audit = of_texts(&[("post.md", &format!("{first}\n{second}"))]);
    let names: Vec<&str> = audit
        .reports
        .iter()
        .map(|report| report.name.as_str())
        .collect();
    assert_eq!(names, ["post:1", "post:57"]);
    let twice = of_texts(&[("post.md", &format!("{first}\nAgain:\n\n{first}"))]);
    assert_eq!(twice.reports.len(), 2);
    assert!(
        twice.conclusions[0].contains("one run"),
        "{:?}",
        twice.conclusions
    );
}

#[test]
fn decimal_commas_are_read() {
    // Method: a report of ab with commas as decimal points.
    let plain = text("event-servers-node.ab.txt");
    let mut letters: Vec<char> = plain.chars().collect();
    for place in 1..letters.len() - 1 {
        let around = [letters[place - 1], letters[place + 1]];
        if letters[place] == '.' && around.iter().all(char::is_ascii_digit) {
            letters[place] = ',';
        }
    }
    let other: String = letters.into_iter().collect();
    let (plain, other) = (of(&plain), of(&other));
    let values = |audit: &Audit| -> Vec<f64> {
        audit.reports[0]
            .figures
            .values()
            .map(|figure| figure.value)
            .collect()
    };
    assert_eq!(values(&plain), values(&other));
    assert_eq!(other.files[0].unread, []);
}

#[test]
fn tables_of_rates_are_read() {
    // Method: a Markdown table with a row that lacks a cell, and a sentence below it.
    let text = "| Server | Req/s | p99 |\n|---|---:|---:|\n| nginx | 41,235.5 | 2.5 |\n\
                | old one | 1,234 | 7.5 |\n| lost | 30.5 |\n| gone | 5.5 | 8.5 |\n\nWe ran 3 of 4.\n";
    let audit = of(text);
    let rows: Vec<(&str, f64)> = audit
        .reports
        .iter()
        .map(|row| {
            (
                row.name.as_str(),
                row.figures[&abx_audit::FigureKey::Rate].value,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("row nginx", 41235.5),
            ("row old one", 1234.0),
            ("row gone", 5.5)
        ]
    );
    assert_eq!(audit.reports[0].quantiles[0].percent, 99.0);
    let unread: Vec<usize> = audit.files[0]
        .unread
        .iter()
        .map(|unread| unread.line)
        .collect();
    assert_eq!(unread, [5]);
}

#[test]
fn tables_with_other_words_and_marks_are_read() {
    // Method: Markdown, a wiki, CSV, a box, columns separated by spaces, and a web page; rows
    // without a rate are left out.
    let rows = |audit: &Audit| -> Vec<(String, f64)> {
        let reports = audit.reports.iter();
        let rate = abx_audit::FigureKey::Rate;
        reports
            .map(|row| (row.name.clone(), row.figures[&rate].value))
            .collect()
    };
    let pair = |name: &str, rate: f64| (format!("row {name}"), rate);
    let audit = crate::of_files(&["table-other-words.md"]);
    let expected = [
        pair("alpha", 41200.0),
        pair("beta", 1.2e6),
        pair("gamma", 9950.0),
        pair("delta", 10020.0),
    ];
    assert_eq!(rows(&audit), expected);
    assert_eq!(audit.files[0].unread, []);
    assert_eq!(audit.reports[2].quantiles[0].time.value, 0.031);
    let audit = crate::of_files(&["wiki-table.txt"]);
    let expected = [
        pair("alpha c=5000", 6120.10),
        pair("alpha c=500", 9011.40),
        pair("alpha c=50", 9400.20),
        pair("beta c=500", 6050.0),
        pair("beta c=50", 6700.0),
        pair("gamma c=5000", 2100.90),
        pair("gamma c=500", 6050.0),
        pair("gamma c=50", 12020.75),
    ];
    assert_eq!(rows(&audit), expected);
    assert_eq!(audit.files[0].unread, []);
    for text in [
        "server,CPU,req/s,p99 (ms)\na,5 %,\"41,200\",1.5\nb b,,950,n/a\n",
        "| Server | CPU | Queries/sec |\n|---|---|---|\n| a | 5 % | **41,200** |\n| b b | | 950 |\n",
        "│ Server │ CPU │ RPS │\n├───┼───┼───┤\n│ a │ 5 % │ 41 200 │\n│ b b │ │ 950 │\n",
        "Server   Requests per second   Errors\na        41,200                0\nb b      950                   -\n",
        "Server\tthroughput (req/s)\tp99\na\t41.2k\t1 ms\nb b\t950 req/s\tX\n",
        "<tr><th>Server</th><th>Requests / sec</th></tr>\n<tr><td>a</td><td>41,200</td></tr>\n\
         <tr><td>b b</td><td>950</td></tr>\n",
    ] {
        let audit = of(text);
        assert_eq!(
            rows(&audit),
            [pair("a", 41200.0), pair("b b", 950.0)],
            "{text}"
        );
        assert_eq!(audit.files[0].unread, [], "{text}");
    }
}
