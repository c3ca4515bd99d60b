//! What is wrong in a scenario alone, and what to write instead.

/// What is wrong in a scenario; texts of the file are short already.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "`key` and `text` are those of the file")]
pub enum ScenarioMistake {
    /// Not a pause.
    #[error(
        "`think` is `{0}`: write a time such as 200ms, or two for any time between them, the shorter \
         one first: \"100ms..300ms\""
    )]
    Think(String),
    /// Not the name of a value.
    #[error("`{0}` is not the name of a value: use letters, digits and `_`, and no digit first")]
    ValueName(String),
    /// The name of a value that is there already.
    #[error("`{0}` is a value that every session has: take another name")]
    OwnValue(String),
    /// A value that is not there yet, or never.
    #[error(
        "`{key}` has {{{name}}}, and no step before this one extracts it; {meant} (for the text \
         {{{name}}} itself, give it a name in [values])"
    )]
    Unknown {
        key: String,
        name: String,
        /// The known word that was meant, or all of them.
        meant: String,
    },
    /// A value of which it is not said where it is.
    #[error(
        "`{0}` does not say where the value is: write {{ json = \"/token\" }}, {{ header = \
         \"Location\" }}, or {{ after = \"value='\", before = \"'\" }} for a part of the body"
    )]
    NoSource(String),
    /// Two places for one value.
    #[error("`{0}` has both `json` and `header`: leave one of them out")]
    TwoSources(String),
    /// Not a JSON pointer.
    #[error("`{key}` is `{text}`: a JSON pointer begins with `/`, such as /data/token")]
    Pointer { key: String, text: String },
    /// Not a path.
    #[error("`path` is `{0}`: begin it with `/` or with a value such as {{location}}, on one line")]
    Path(String),
}
