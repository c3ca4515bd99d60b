//! Words that were replaced stay out of the output of abx: one word per idea, that of the field.

use super::modules::{Modules, code, crates, planted};

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

/// Crates whose sentences are not checked: samples of reports are quoted in the book, or they print
/// nothing.
const EXEMPT: &[&str] = &["abx-audit", "abx-fixtures"];
/// Modules with tables of simulations that are run by hand, and with paths of an installation.
const EXEMPT_MODULES: &[&str] = &["simulation", "manual"];

/// The texts in quotes of several words each, on one line.
fn texts(code: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut letters = code.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            // A character such as '"' begins no text.
            '\'' if letters.peek() == Some(&'"') => drop(letters.next()),
            '"' => texts.push(text(&mut letters)),
            _ => {}
        }
    }
    let are_several = |text: &String| text.split_whitespace().count() > 2;
    texts.into_iter().filter(are_several).collect()
}

/// The rest of a text after its first quote, with blanks for broken lines.
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

/// Whether a text has a phrase as whole words; one that ends in a slash may continue.
fn has(text: &str, phrase: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let text = text.to_lowercase();
    text.match_indices(phrase).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + phrase.len()..].chars().next();
        let goes_on = phrase.ends_with('/');
        !before.is_some_and(is_part) && (goes_on || !after.is_some_and(is_part))
    })
}

fn rejected(name: &str, modules: &Modules) -> Vec<String> {
    let mut out = Vec::new();
    for (path, source) in modules {
        if path
            .iter()
            .any(|part| EXEMPT_MODULES.contains(&part.as_str()))
        {
            continue;
        }
        for text in texts(&code(source)) {
            let phrases = REJECTED.iter().filter(|(phrase, _)| has(&text, phrase));
            out.extend(phrases.map(|(phrase, instead)| {
                format!(
                    "{name}::{}: `{phrase}` in {text:?}: write {instead}",
                    path.join("::")
                )
            }));
        }
    }
    out
}

#[test]
fn printed_sentences_have_the_words_of_the_field() {
    // Method: every text of three words or more in the source of every crate, without tests.
    let crates = crates();
    let printing = crates
        .iter()
        .filter(|(name, _)| !EXEMPT.contains(&name.as_str()));
    let rejections: Vec<String> = printing
        .flat_map(|(name, modules)| rejected(name, modules))
        .collect();
    assert_eq!(rejections, [""; 0]);
}

#[test]
fn a_rejected_word_is_found_only_in_texts() {
    // Method: a word on one line, a phrase on two, a comment, a name, a longer word, and a text of
    // one word.
    let modules = planted(&[(
        "a",
        "// it is equivalent to this\nfn anew() {}\nfn f() { say(\"the result is inconclusive\"); \
         say(\"made for all, but \\\n    for one\"); say('\"'); say(\"equivalent\"); \
         say(\"the equivalents are here\"); }",
    )]);
    let seen = rejected("planted", &modules);
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(
        seen[0].contains("write undecided") && seen[1].contains("write except"),
        "{seen:?}"
    );
}
