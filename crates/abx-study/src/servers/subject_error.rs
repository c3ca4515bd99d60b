//! Errors in the text of a subject.

/// Why a text is not a subject.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    #[error(
        "`{0}` is neither a URL, nor `name=command`, nor a study file or its folder: give for \
         example `http://127.0.0.1:8081/` or `'new=./server --port {{port}}'`"
    )]
    Unnamed(String),
    #[error(
        "the command `{command}` has no name: write it as in `'{name}={command}'`, and add a second \
         one to compare it with"
    )]
    UnnamedCommand {
        command: String,
        /// The suggested name.
        name: String,
    },
    #[error(
        "the command of `{name}` begins with `{word}`, which only a shell understands: write \
         `'{name}=env {command}'`"
    )]
    Variable {
        name: String,
        /// The variable with its value.
        word: String,
        command: String,
    },
    #[error(
        "the command of `{name}` has `{word}`, which only a shell understands, and abx uses none: \
         write `\"{name}=sh -c '{command}'\"`, with exec before the server's own command{}", in_folder(.word)
    )]
    Shell {
        name: String,
        word: String,
        command: String,
    },
    #[error(
        "`{0}` is not a valid name for a subject: use letters, digits, `-`, `_` and `.`, at most 40"
    )]
    BadName(String),
    #[error(
        "the command of `{name}` has no {{port}}: abx chooses the port, so write {{port}} where \
         the command takes it (or `env PORT={{port}} ...`)"
    )]
    NoPort { name: String },
    #[error("`{name}` has an empty command: write `'{name}=program arguments'`")]
    Empty { name: String },
    #[error(
        "`{image}` of `{name}` is not the name of an image: write for example \
         `'{name}=image:nginx:1.27'`, and its arguments after that"
    )]
    BadImage { name: String, image: String },
    #[error("the command of `{name}` has a quote that does not close: `{command}`")]
    Quotes { name: String, command: String },
    #[error(
        "`{url}`: abx supports http://, https://, ws:// and wss://; {scheme}:// is not supported"
    )]
    Scheme { url: String, scheme: String },
    #[error(
        "`{url}` is not a URL that abx understands ({why}): write http://HOST[:PORT]/PATH, or https://, ws://, wss://"
    )]
    Url {
        url: String,
        /// The error in it.
        why: &'static str,
    },
    #[error("`{url}` has an IPv6 address without brackets: write `{right}` for its host and port")]
    Brackets {
        url: String,
        /// Host and port with brackets.
        right: String,
    },
    #[error("`{url}`: {why}: write http://unix:/SOCKET:/PATH")]
    Socket {
        url: String,
        /// The error in it.
        why: String,
    },
    #[error("`{host}` does not resolve ({why}): check the name, or give an address")]
    Resolve { host: String, why: String },
}

/// The other remedy for a command that changes its folder first.
fn in_folder(word: &str) -> &'static str {
    match word {
        "cd" => "; or write the folder into its paths",
        _ => "",
    }
}
