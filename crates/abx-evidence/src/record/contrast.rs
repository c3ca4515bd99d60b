//! The pairs that a study compares: those that it declares, else every subject with the baseline.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{LoadRecord, Measured};

/// A pair that was requested before the measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contrast {
    /// The subject.
    pub subject: String,
    /// The subject that it is compared with.
    pub baseline: String,
    /// The loads and faults under which it was requested, as the study names them; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<String>,
    /// The question that this contrast answers, for reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

impl Contrast {
    /// Subject and baseline.
    #[must_use]
    pub fn pair(&self) -> [&str; 2] {
        [&self.subject, &self.baseline]
    }

    fn is_under(&self, load: &LoadRecord) -> bool {
        self.is_of(&load.name) || self.is_of(load.name_of_grid())
    }

    /// Whether it was requested under the load or fault of this name.
    #[must_use]
    pub fn is_of(&self, name: &str) -> bool {
        self.loads.is_empty() || self.loads.iter().any(|load| load == name)
    }
}

impl Measured {
    /// Every pair of subject and baseline that was requested under any load, each once.
    #[must_use]
    pub fn pairs(&self) -> Vec<[&str; 2]> {
        self.pairs_where(|_| true)
    }

    /// The pairs that were requested under a load.
    #[must_use]
    pub fn pairs_under(&self, load: &LoadRecord) -> Vec<[&str; 2]> {
        self.pairs_where(|contrast| contrast.is_under(load))
    }

    /// The pairs that were requested under a fault.
    #[must_use]
    pub fn pairs_of_fault(&self, fault: &str) -> Vec<[&str; 2]> {
        self.pairs_where(|contrast| contrast.is_of(fault))
    }

    /// Whether verdicts need a subject under a load: it is compared there, or under a fault during
    /// this load. All are needed where nothing is compared, and those that are compared nowhere.
    #[must_use]
    pub fn is_needed(&self, load: &LoadRecord, subject: &str) -> bool {
        let is_in = |pairs: &[[&str; 2]]| pairs.iter().any(|pair| pair.contains(&subject));
        let faults = self.faults.iter().filter(|fault| fault.load == load.name);
        let struck = faults.flat_map(|fault| self.pairs_of_fault(&fault.name));
        let compared: Vec<_> = self.pairs_under(load).into_iter().chain(struck).collect();
        compared.is_empty() || is_in(&compared) || !is_in(&self.pairs())
    }

    /// The baseline of all pairs, if they have the same one.
    #[must_use]
    pub fn only_baseline(&self) -> Option<&str> {
        let declared = &self.settings.contrasts;
        let baseline = declared.first().map(|contrast| contrast.baseline.as_str());
        let baseline = baseline.unwrap_or(&self.settings.baseline);
        let is_shared = declared
            .iter()
            .all(|contrast| contrast.baseline == baseline);
        is_shared.then_some(baseline)
    }

    fn pairs_where(&self, is_wanted: impl Fn(&Contrast) -> bool) -> Vec<[&str; 2]> {
        let declared = &self.settings.contrasts;
        if declared.is_empty() {
            let baseline = self.settings.baseline.as_str();
            let names = self.subjects.iter().map(|subject| subject.name.as_str());
            let others = names.filter(|name| *name != baseline);
            return others.map(|name| [name, baseline]).collect();
        }
        let wanted = declared.iter().filter(|contrast| is_wanted(contrast));
        let is_known = |pair: &[&str; 2]| pair.iter().all(|name| self.subject(name).is_some());
        wanted.map(Contrast::pair).filter(is_known).collect()
    }
}
