//! Needs that are missing, and their remedies.

use std::fmt;

/// Something that a subject needs and this machine lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    pub subject: String,
    /// The missing need, in words: `the package nginx-light`.
    pub what: String,
    pub remedy: Remedy,
}

/// The remedy for a missing need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// [`super::install`] runs these commands, each an argument list.
    Install(Vec<Vec<String>>),
    /// A person has to do this.
    ByHand(String),
    /// A person has to bring this program, which no registry has; how to get it.
    Bring(String),
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Missing {
            subject,
            what,
            remedy,
        } = self;
        write!(formatter, "{subject} needs {what}: {remedy}")
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::ByHand(how) | Remedy::Bring(how) => formatter.write_str(how),
            Remedy::Install(commands) => {
                let lines: Vec<String> = commands.iter().map(shell_words::join).collect();
                formatter.write_str(&lines.join(" && "))
            }
        }
    }
}
