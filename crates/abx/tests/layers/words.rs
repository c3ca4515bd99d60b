//! Replaced words stay out of identifiers: each idea has one word, that of the field.

use super::modules::{Modules, code, crates, planted, qualified};

/// Each replaced word, spelled as in a function's name, and its replacement. The test finds it in
/// types and constants too.
const REPLACED: &[(&str, &str)] = &[
    ("agent_news", "agent_event"),
    ("agent_order", "agent_command"),
    ("answer", "response"),
    ("answered", "responded"),
    ("answering", "responding"),
    ("answers", "responses"),
    ("ask", "request"),
    ("asking", "requesting"),
    ("asks", "requests"),
    ("believing", "trusting"),
    ("census", "counts"),
    ("company", "participants"),
    ("competitor", "subject"),
    ("contender", "subject"),
    ("contestant", "subject"),
    ("fault_order", "fault_command"),
    ("fleet_news", "fleet_event"),
    ("goes_on", "continues"),
    ("goodbye", "close_notify"),
    ("hear", "receive"),
    ("heard", "received"),
    ("hears", "receives"),
    ("judgement", "verdict"),
    ("judgment", "verdict"),
    ("keeper_order", "keeper_command"),
    ("lingering", "background_cpu"),
    ("news", "event"),
    ("opponent", "baseline"),
    ("roll_call", "liveness"),
    ("roster", "participants"),
    ("said", "reported"),
    ("say", "print"),
    ("stretch", "interval"),
    ("stretches", "intervals"),
    ("sut", "subject"),
    ("telling", "reporting"),
    ("tells", "reports"),
    ("tempo", "rate"),
    ("tls_terms", "tls_options"),
    ("troubles", "host_counters"),
    ("unanswered", "without_response"),
    ("warm_in", "lead_in"),
    ("worker_order", "worker_command"),
];

/// The words of an identifier in small letters: `LeadIn` has `lead` and `in`.
fn words(identifier: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = '_';
    for letter in identifier.chars() {
        let begins = before == '_' || (letter.is_uppercase() && !before.is_uppercase());
        if letter != '_' {
            if begins {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(letter.to_lowercase());
            }
        }
        before = letter;
    }
    words
}

/// The identifiers of these modules that have a replaced word, each with the replacement.
fn replaced(crate_name: &str, modules: &Modules, table: &[(&str, &str)]) -> Vec<String> {
    let table: Vec<(Vec<String>, &str)> = table
        .iter()
        .map(|(word, instead)| (words(word), *instead))
        .collect();
    let mut errors = Vec::new();
    for (path, text) in modules {
        let code = without_strings(&code(text));
        let identifiers = code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        for identifier in identifiers.filter(|word| !word.is_empty()) {
            let parts = words(identifier);
            let replaced = table.iter().find(|(word, _)| {
                parts
                    .windows(word.len())
                    .any(|part| part == word.as_slice())
            });
            if let Some((_, instead)) = replaced {
                let place = qualified(crate_name, path);
                errors.push(format!("{identifier} in {place}: say {instead}"));
            }
        }
    }
    errors.sort();
    errors.dedup();
    errors
}

fn without_strings(code: &str) -> String {
    let parts = code.split('"').step_by(2);
    parts.collect::<Vec<_>>().join(" ")
}

#[test]
fn identifiers_have_the_words_of_the_field() {
    // Method: every identifier in the source of every crate, except for strings and tests.
    let crates = crates();
    let errors: Vec<String> = crates
        .iter()
        .flat_map(|(name, modules)| replaced(name, modules, REPLACED))
        .collect();
    assert_eq!(errors, [""; 0]);
}

#[test]
fn a_replaced_word_is_found_in_each_spelling() {
    // Method: a word of one part and one of two, in a type, a function and a constant; a longer
    // word with the same beginning; strings and comments.
    let modules = planted(&[(
        "a",
        "// answer\nstruct OldAnswer;\nfn warm_in() {}\nconst WARM_IN: u8 = 0;\n\
         fn answerable(text: &str) { say(\"answer\") }",
    )]);
    let table = [("answer", "response"), ("warm_in", "lead-in")];
    let expected = [
        "OldAnswer in planted::a: say response",
        "WARM_IN in planted::a: say lead-in",
        "warm_in in planted::a: say lead-in",
    ];
    assert_eq!(replaced("planted", &modules, &table), expected);
}
