//! The next commit to try: the one that leaves the fewest suspects in the worst case. Pure; start
//! at [`CommitSearch::next`].

use std::collections::BTreeSet;

use abx_stats::sequential::{SEARCH_ERROR, StepDecision, halvings, step_error};
use serde::{Deserialize, Serialize};

/// The outcome of the trial of one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialOutcome {
    LikeGood,
    LikeBad,
    /// It differs from both ends: a part of the change is older, a part is newer.
    LikeNeither,
    /// The most blocks do not show which end it is like.
    Undecided,
    /// It was left out on request, does not build, or does not start.
    Skipped,
}

impl TrialOutcome {
    /// The outcome of the last decision about a commit. A trial that would continue is undecided,
    /// because its time is over.
    #[must_use]
    pub fn of(decision: StepDecision) -> TrialOutcome {
        match decision {
            StepDecision::LikeGood => TrialOutcome::LikeGood,
            StepDecision::LikeBad => TrialOutcome::LikeBad,
            StepDecision::LikeNeither => TrialOutcome::LikeNeither,
            StepDecision::Undecided | StepDecision::Continue => TrialOutcome::Undecided,
        }
    }
}

/// The next step of a search. Commits are positions in a list that begins with GOOD and ends with
/// BAD, each after its parents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchStep {
    Try(usize),
    /// This commit is like BAD, and its parents are like GOOD.
    Culprit(usize),
    /// All suspects are skipped, except for the last, which is like BAD.
    AllSkipped,
    /// This commit is like neither end, or is undecided.
    Stuck(usize),
}

/// A search in a history, which may have merges: a commit that is like GOOD clears its
/// ancestors, and a commit that is like BAD clears all others.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitSearch {
    /// The positions of each commit's parents. Ancestors of GOOD have no position.
    parents: Vec<Vec<usize>>,
    /// The commits that may be the culprit. The last one is like BAD.
    suspects: Vec<usize>,
    skipped: BTreeSet<usize>,
    stuck: Option<usize>,
    /// The remaining part of the error that all steps share.
    error_left: f64,
}

/// The weight of the distance to a skipped commit: a commit close to it is a bad choice, because
/// the cause of a broken build usually breaks its neighbours too. At 8, one skipped commit moves
/// the choice by a ninth of the way to the nearer end, and a broken half of the range costs a few
/// builds.
const SKIPPED_WEIGHT: usize = 8;

impl CommitSearch {
    /// A search in a history of these parents.
    #[must_use]
    pub fn new(parents: Vec<Vec<usize>>) -> CommitSearch {
        let suspects = 1..parents.len();
        CommitSearch {
            parents,
            suspects: suspects.collect(),
            skipped: BTreeSet::new(),
            stuck: None,
            error_left: SEARCH_ERROR,
        }
    }

    /// The commits that may be the culprit, oldest first.
    #[must_use]
    pub fn suspects(&self) -> &[usize] {
        &self.suspects
    }

    /// The commits that may still be tried.
    pub fn untried(&self) -> impl Iterator<Item = usize> {
        let before_bad = self.suspects.split_last().map_or(&[][..], |(_, rest)| rest);
        let suspects = before_bad.iter().copied();
        suspects.filter(|position| !self.skipped.contains(position))
    }

    /// The approximate number of remaining steps.
    #[must_use]
    pub fn steps_left(&self) -> u32 {
        halvings(self.untried().count())
    }

    /// The error that the next step may have.
    #[must_use]
    pub fn error(&self) -> f64 {
        step_error(self.error_left, self.untried().count())
    }

    /// The next step; `None` in a history without any commit after GOOD.
    #[must_use]
    pub fn next(&self) -> Option<SearchStep> {
        let bad = *self.suspects.last()?;
        if let Some(position) = self.stuck {
            return Some(SearchStep::Stuck(position));
        }
        let weights = self.weights();
        let worth = |position: &usize| self.worth(*position, weights[*position]);
        Some(match self.untried().max_by_key(worth) {
            Some(position) => SearchStep::Try(position),
            None if self.suspects.len() == 1 => SearchStep::Culprit(bad),
            None => SearchStep::AllSkipped,
        })
    }

    /// The fewest suspects that a trial of this commit clears, or less close to skipped commits.
    /// `weight` is the number of suspects among its ancestors and itself.
    fn worth(&self, position: usize, weight: usize) -> usize {
        let cleared = weight.min(self.suspects.len() - weight);
        let skipped = self.skipped.iter();
        let near = skipped.map(|skipped| SKIPPED_WEIGHT * skipped.abs_diff(position));
        near.min().unwrap_or(cleared).min(cleared)
    }

    /// The number of suspects among the ancestors of each commit and itself; 0 for commits that are
    /// not suspects. Only merges need a separate count.
    fn weights(&self) -> Vec<usize> {
        let is_suspect = self.marked(&self.suspects);
        let mut weights = vec![0; self.parents.len()];
        for position in &self.suspects {
            let parents = self.parents[*position].iter();
            let suspects: Vec<usize> = parents
                .copied()
                .filter(|parent| is_suspect[*parent])
                .collect();
            weights[*position] = match suspects[..] {
                [] => 1,
                [parent] => weights[parent] + 1,
                _ => {
                    let ancestors = self.ancestors(*position);
                    let marks = ancestors.iter().zip(&is_suspect);
                    marks
                        .filter(|(is_ancestor, is_suspect)| **is_ancestor && **is_suspect)
                        .count()
                }
            };
        }
        weights
    }

    /// Marks a commit and all of its ancestors.
    fn ancestors(&self, position: usize) -> Vec<bool> {
        let mut marks = self.marked(&[position]);
        for child in (0..=position)
            .rev()
            .filter(|child| *child < self.parents.len())
        {
            if marks[child] {
                let parents = self.parents[child].iter().filter(|parent| **parent < child);
                parents.for_each(|parent| marks[*parent] = true);
            }
        }
        marks
    }

    fn marked(&self, positions: &[usize]) -> Vec<bool> {
        let mut marks = vec![false; self.parents.len()];
        positions
            .iter()
            .for_each(|position| marks[*position] = true);
        marks
    }

    /// Notes the outcome of a commit. A commit that may not be tried changes nothing.
    pub fn note(&mut self, position: usize, outcome: TrialOutcome) {
        if !self.untried().any(|untried| untried == position) {
            return;
        }
        if outcome != TrialOutcome::Skipped {
            self.error_left -= self.error();
        }
        let ancestors = self.ancestors(position);
        match outcome {
            TrialOutcome::LikeGood => self.suspects.retain(|suspect| !ancestors[*suspect]),
            TrialOutcome::LikeBad => self.suspects.retain(|suspect| ancestors[*suspect]),
            TrialOutcome::LikeNeither | TrialOutcome::Undecided => self.stuck = Some(position),
            TrialOutcome::Skipped => {
                self.skipped.insert(position);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A linear history of `bad` commits after GOOD.
    fn linear(bad: usize) -> Vec<Vec<usize>> {
        let parents = (0..=bad).map(|position| position.checked_sub(1).into_iter().collect());
        parents.collect()
    }

    /// Searches for a culprit in a history with broken commits. Gives the last step, the remaining
    /// suspects, and the numbers of measured commits and of failed builds.
    fn search(
        parents: Vec<Vec<usize>>,
        culprit: usize,
        broken: &BTreeSet<usize>,
    ) -> (SearchStep, Vec<usize>, [u32; 2]) {
        let mut search = CommitSearch::new(parents);
        let [mut measured, mut failed] = [0, 0];
        loop {
            let step = search.next().unwrap();
            let SearchStep::Try(position) = step else {
                return (step, search.suspects, [measured, failed]);
            };
            if broken.contains(&position) {
                failed += 1;
                search.note(position, TrialOutcome::Skipped);
                continue;
            }
            measured += 1;
            assert!(search.error() > 0.0);
            let outcome = if search.ancestors(position)[culprit] {
                TrialOutcome::LikeBad
            } else {
                TrialOutcome::LikeGood
            };
            search.note(position, outcome);
        }
    }

    proptest! {
        #[test]
        fn an_oracle_without_errors_leads_to_the_culprit((bad, culprit) in (1..400_usize)
            .prop_flat_map(|bad| (Just(bad), 1..=bad))) {
            // Method: every size and culprit; at most ⌈log₂ n⌉ commits are measured.
            let (end, _, [measured, _]) = search(linear(bad), culprit, &BTreeSet::new());
            prop_assert_eq!(end, SearchStep::Culprit(culprit));
            prop_assert!(measured <= (bad as f64).log2().ceil() as u32);
        }

        #[test]
        fn merges_do_not_lead_the_search_astray((parents, culprit) in (1..60_usize)
            .prop_flat_map(|bad| (proptest::collection::vec((0..1_000_usize, 0..1_000_usize,
                any::<bool>()), bad), 1..=bad))) {
            // Method: histories in which each commit has one or two earlier parents, drawn, and
            // BAD descends from all. The result is the planted culprit.
            let mut history = vec![Vec::new()];
            for (first, second, is_merge) in &parents {
                let position = history.len();
                let mut parents = vec![first % position];
                parents.extend(is_merge.then_some(second % position));
                history.push(parents);
            }
            let last = history.len();
            history.push((0..last).collect());
            let (end, suspects, _) = search(history, culprit, &BTreeSet::new());
            prop_assert_eq!(end, SearchStep::Culprit(culprit));
            prop_assert_eq!(suspects, [culprit]);
        }

        #[test]
        fn skipped_commits_leave_suspects_that_include_the_culprit((bad, culprit, broken) in
            (1..120_usize).prop_flat_map(|bad| (Just(bad), 1..=bad,
                proptest::collection::btree_set(1..=bad, 0..bad)))) {
            // Method: any set of commits that do not build. The remaining suspects are exactly the
            // commits after the last good one that builds, up to the first bad one.
            let mut broken = broken;
            broken.remove(&bad);
            let (end, suspects, _) = search(linear(bad), culprit, &broken);
            let good = (0..culprit).rev().find(|position| !broken.contains(position)).unwrap();
            let first_bad = (culprit..=bad).find(|position| !broken.contains(position)).unwrap();
            let is_found = first_bad - good == 1;
            let expected = if is_found {
                SearchStep::Culprit(culprit)
            } else {
                SearchStep::AllSkipped
            };
            prop_assert_eq!(end, expected);
            prop_assert_eq!(suspects, (good + 1..=first_bad).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_broken_half_costs_few_builds() {
        // Method: 1,000 commits of which 500 in a row do not build, with a culprit outside of
        // them; and one broken commit in the middle, which costs one build.
        let broken: BTreeSet<usize> = (200..700).collect();
        let (end, _, [_, failed]) = search(linear(1_000), 900, &broken);
        assert_eq!(end, SearchStep::Culprit(900));
        assert!(failed <= 12, "{failed} builds failed");
        let (end, _, counts) = search(linear(64), 50, &BTreeSet::from([32]));
        assert_eq!((end, counts), (SearchStep::Culprit(50), [5, 1]));
    }

    #[test]
    fn a_commit_like_neither_end_ends_the_search() {
        // Method: the first try, decided or not; a commit that may not be tried changes nothing.
        for outcome in [TrialOutcome::LikeNeither, TrialOutcome::Undecided] {
            let mut search = CommitSearch::new(linear(10));
            for place in [0, 10, 11] {
                search.note(place, outcome);
            }
            assert_eq!(search, CommitSearch::new(linear(10)));
            let next = search.next().unwrap();
            assert_eq!((next, search.steps_left()), (SearchStep::Try(5), 4));
            search.note(5, outcome);
            assert_eq!(search.next(), Some(SearchStep::Stuck(5)));
        }
        assert_eq!(CommitSearch::new(linear(0)).next(), None);
    }
}
