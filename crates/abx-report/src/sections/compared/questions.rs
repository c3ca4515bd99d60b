//! The questions that a study declares, with the pairs that answer them.

use abx_verdict::StudyRecord;

/// A question, unless the study has none for these pairs, and the pairs: subject and baseline.
pub(crate) type PairsOfQuestion<'a> = (Option<&'a str>, Vec<[&'a str; 2]>);

/// The questions of the study in their order, each with its pairs; those without one last.
pub(crate) fn questions(record: &StudyRecord) -> Vec<PairsOfQuestion<'_>> {
    let contrasts = &record.measured.settings.contrasts;
    let question = |pair: [&str; 2]| {
        let mut contrasts = contrasts.iter();
        let contrast = contrasts.find(|contrast| contrast.pair() == pair)?;
        contrast.question.as_deref()
    };
    let mut questions: Vec<PairsOfQuestion> = Vec::new();
    for pair in record.measured.pairs() {
        let question = question(pair);
        match questions.iter_mut().find(|(other, _)| *other == question) {
            Some((_, pairs)) => pairs.push(pair),
            None => questions.push((question, vec![pair])),
        }
    }
    questions.sort_by_key(|(question, _)| question.is_none());
    questions
}

/// Whether the questions stand above the rows of the matrix, which answer them, instead of above
/// sentences: if there are many, or tables of several faults after them.
pub(crate) fn head_rows(record: &StudyRecord) -> bool {
    let questions = questions(record).into_iter();
    let questions = questions.filter(|(question, _)| question.is_some()).count();
    let most = if record.measured.faults.len() > 1 {
        0
    } else {
        QUESTIONS_OF_SENTENCES
    };
    questions > most
}

const QUESTIONS_OF_SENTENCES: usize = 3;
