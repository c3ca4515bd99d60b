//! The banner and the usage of ab.

/// The first lines of ab's output, as text or as HTML. Scripts recognise its reports by them.
#[must_use]
pub fn banner(as_html: bool) -> String {
    let lines = [
        ("This is ApacheBench, Version 2.3 ", "<$Revision$>"),
        (
            "Copyright 1996 Adam Twiss, Zeus Technology Ltd, http://www.zeustech.net/",
            "",
        ),
        (
            "Licensed to The Apache Software Foundation, http://www.apache.org/",
            "",
        ),
    ];
    let mut text = String::new();
    if !as_html {
        for (line, revision) in lines {
            text.push_str(&format!("{line}{revision}\n"));
        }
        text.push('\n');
        return text;
    }
    text.push_str("<p>\n");
    for (line, revision) in lines {
        let revision = match revision {
            "" => String::new(),
            _ => "<i>&lt;$Revision$&gt;</i>".to_owned(),
        };
        text.push_str(&format!(" {line}{revision}<br>\n"));
    }
    text.push_str("</p>\n<p>\n");
    text
}

/// The usage: how to call ab, and one line per flag.
#[must_use]
pub fn usage() -> String {
    let mut text =
        "Usage: ab [options] [http[s]://]hostname[:port]/path\nOptions are:\n".to_owned();
    for (flag, meaning) in FLAGS {
        text.push_str(&format!("    {flag:<17}{meaning}\n"));
    }
    text
}

const FLAGS: &[(&str, &str)] = &[
    ("-n requests", "How many requests to send [1]"),
    ("-c concurrency", "How many connections send at once [1]"),
    ("-t seconds", "Stop after this time; sets -n to 50000"),
    ("-s seconds", "How long a response may take [30]"),
    ("-b bytes", "Size of each socket's buffers"),
    ("-B address", "Local address of the connections"),
    ("-p file", "POST what this file contains; see -T"),
    ("-u file", "PUT what this file contains; see -T"),
    ("-T type", "Content-type of what is sent [text/plain]"),
    (
        "-v level",
        "2 shows heads and wrong statuses, 3 all statuses",
    ),
    ("-w", "Print the report as an HTML table"),
    ("-x attributes", "Attributes of <table>; as -w"),
    ("-y attributes", "Attributes of <tr>; as -w"),
    ("-z attributes", "Attributes of <td> and <th>; as -w"),
    ("-i", "Send HEAD instead of GET"),
    ("-C name=value", "Send a cookie (repeatable)"),
    ("-H name:value", "Send a header (repeatable)"),
    ("-A user:password", "Send Basic credentials to the server"),
    ("-P user:password", "Send Basic credentials to the proxy"),
    ("-X proxy[:port]", "Send requests through a proxy"),
    ("-V", "Print the version"),
    ("-k", "Keep connections alive"),
    ("-d", "Leave out the table of percentages"),
    ("-S", "Leave out deviations, medians and warnings"),
    ("-q", "Do not show progress"),
    ("-l", "Accept documents of any length"),
    ("-g file", "Write each request into a table for gnuplot"),
    ("-e file", "Write percentages and times as CSV"),
    ("-r", "Go on after failures"),
    ("-m method", "Send this method"),
    ("-h", "Print this"),
    ("-I", "Do not send the server's name in TLS"),
    (
        "-Z suites",
        "Cipher suites of TLS 1.2, as OpenSSL calls them",
    ),
    ("-f protocol", "TLS1.2, TLS1.3 or ALL"),
    ("-E file", "Client certificate and its key (PEM)"),
    ("-W threads", "How many threads send"),
    (
        "-R milliseconds",
        "Time from one connection's start to the next one's",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_html_begin_with_the_same_lines() {
        // Method: the HTML without its markup is the text.
        let html = banner(true);
        let inner = html.replace("<i>&lt;", "<").replace("&gt;</i>", ">");
        let inner = inner
            .replace("<br>", "")
            .replace("<p>\n", "")
            .replace("</p>\n", "");
        let inner: String = inner
            .lines()
            .map(|line| format!("{}\n", &line[1..]))
            .collect();
        assert_eq!(format!("{inner}\n"), banner(false));
    }

    #[test]
    fn every_flag_is_in_the_usage() {
        // Method: the letters that are read, one by one.
        for letter in super::super::options::LETTERS
            .chars()
            .filter(|char| *char != ':')
        {
            let is_listed = usage().contains(&format!("\n    -{letter}"));
            assert!(is_listed, "{letter}");
        }
    }
}
