//! The questions that a study declares, with the pairs that answer them.

use abx_verdict::StudyRecord;

/// A question, or `None` for pairs without one, and its pairs of subject and baseline.
pub(crate) type PairsOfQuestion<'a> = (Option<&'a str>, Vec<[&'a str; 2]>);

/// The questions of the study in their order, each with its pairs; pairs without one last.
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

/// Whether the questions stand above the rows of the matrix that answer them, and not above
/// sentences: if there are many questions, or tables of several faults after them.
pub(crate) fn head_rows(record: &StudyRecord) -> bool {
    let questions = questions(record).into_iter();
    let count = questions.filter(|(question, _)| question.is_some()).count();
    let most = match record.measured.faults.len() {
        0 | 1 => QUESTIONS_OF_SENTENCES,
        _ => 0,
    };
    count > most
}

/// More questions than this do not stand above sentences.
const QUESTIONS_OF_SENTENCES: usize = 3;
