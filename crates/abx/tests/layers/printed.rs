//! Replaced words stay out of the output of abx: each idea has one word, that of the field.

use super::modules::{Modules, code, crates, planted, qualified};

/// Each rejected word or phrase, and its replacement.
const REJECTED: &[(&str, &str)] = &[
    ("inconclusive", "undecided"),
    ("equivalent", "same"),
    ("no claim", "no verdict"),
    ("told apart", "distinguish"),
    ("but for", "except"),
    ("also when", "even if"),
    ("also not", "not even"),
    ("believe", "trust"),
    ("believed", "trusted"),
    ("believes", "trusts"),
    ("rightly", "correctly"),
    ("answer", "response"),
    ("answers", "responses, or responds"),
    ("answered", "responded"),
    ("answering", "responding"),
    ("unanswered", "without a response"),
    ("right response", "correct response"),
    ("whoever", "any program that"),
    ("everybody", "every server"),
    ("anew", "again"),
    ("afresh", "again"),
    ("ordered", "set"),
    ("in the mean", "on average"),
    ("look whether", "check whether"),
    ("looked whether", "checked whether"),
    ("processor time", "CPU time"),
    ("could not go on", "could not continue"),
    ("put it beside", "put it next to"),
    ("speaks", "supports or uses"),
    ("for want of", "because there is no"),
    ("order so many", "set at least as many"),
    ("as it should be", "correct"),
    ("take it as it is", "accept it"),
    ("who is slower", "which is slower"),
    ("tell who", "show which"),
    ("docs/", "`abx explain NAME` or `abx help COMMAND`"),
];

/// Crates whose sentences are not checked: the audit quotes reports, and fixtures print nothing.
const EXEMPT: &[&str] = &["abx-audit", "abx-fixtures"];
/// Modules that print tables of simulations run by hand, or paths of an installation.
const EXEMPT_MODULES: &[&str] = &["simulation", "manual"];

/// The string literals with more than two words, each on one line.
fn texts(code: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut letters = code.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            // A character such as '"' begins no string.
            '\'' if letters.peek() == Some(&'"') => drop(letters.next()),
            '"' => texts.push(text(&mut letters)),
            _ => {}
        }
    }
    texts.retain(|text| text.split_whitespace().count() > 2);
    texts
}

/// The rest of a string after its opening quote, with line breaks as spaces.
fn text(letters: &mut impl Iterator<Item = char>) -> String {
    let mut out = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => match letters.next() {
                Some('\n') | None => {}
                Some(escaped) => out.push(escaped),
            },
            letter => out.push(letter),
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text has a phrase as whole words. A phrase that ends in a slash may continue.
fn has(text: &str, phrase: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let text = text.to_lowercase();
    text.match_indices(phrase).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + phrase.len()..].chars().next();
        let may_continue = phrase.ends_with('/');
        !before.is_some_and(is_part) && (may_continue || !after.is_some_and(is_part))
    })
}

fn rejected(crate_name: &str, modules: &Modules) -> Vec<String> {
    let is_exempt = |part: &String| EXEMPT_MODULES.contains(&part.as_str());
    let mut errors = Vec::new();
    for (path, source) in modules {
        if path.iter().any(is_exempt) {
            continue;
        }
        let place = qualified(crate_name, path);
        for text in texts(&code(source)) {
            let phrases = REJECTED.iter().filter(|(phrase, _)| has(&text, phrase));
            errors.extend(phrases.map(|(phrase, instead)| {
                format!("{place}: `{phrase}` in {text:?}: write {instead}")
            }));
        }
    }
    errors
}

#[test]
fn printed_sentences_have_the_words_of_the_field() {
    // Method: every string of three words or more in the source of every crate, except for tests.
    let crates = crates();
    let printing = crates
        .iter()
        .filter(|(name, _)| !EXEMPT.contains(&name.as_str()));
    let errors: Vec<String> = printing
        .flat_map(|(name, modules)| rejected(name, modules))
        .collect();
    assert_eq!(errors, [""; 0]);
}

#[test]
fn a_rejected_word_is_found_only_in_texts() {
    // Method: a word on one line, a phrase on two, a comment, a name, a longer word, and a string
    // of one word.
    let modules = planted(&[(
        "a",
        "// it is equivalent to this\nfn anew() {}\nfn f() { say(\"the result is inconclusive\"); \
         say(\"made for all, but \\\n    for one\"); say('\"'); say(\"equivalent\"); \
         say(\"the equivalents are here\"); }",
    )]);
    let errors = rejected("planted", &modules);
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(
        errors[0].contains("write undecided") && errors[1].contains("write except"),
        "{errors:?}"
    );
}
