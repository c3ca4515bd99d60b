//! The subjects of a study in the plots of a page: each has a number, which sets its colour and
//! marker.

use abx_verdict::StudyRecord;

use crate::html::charts::plot::{PointSize, marker, series_class};
use crate::html::markup::{Element, Markup, element};
use crate::words::verdict::name;

/// The subjects, in the record's order.
pub(crate) struct Subjects<'a> {
    names: Vec<&'a str>,
    /// The baseline that all other subjects share, if any.
    baseline: Option<&'a str>,
}

impl<'a> Subjects<'a> {
    pub(crate) fn of(record: &'a StudyRecord) -> Subjects<'a> {
        Subjects {
            names: record
                .measured
                .subjects
                .iter()
                .map(|subject| subject.name.as_str())
                .collect(),
            baseline: { record.measured.only_baseline() }
                .filter(|_| record.measured.is_comparison()),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &'a str)> + '_ {
        self.names.iter().copied().enumerate()
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|text| *text == name)
    }

    pub(crate) fn legend(&self, shown: impl IntoIterator<Item = usize>) -> Markup {
        let entry = |number: usize| {
            let subject = self.names[number];
            let note = (Some(subject) == self.baseline).then_some("baseline");
            entry(number, subject, note)
        };
        legend(shown.into_iter().map(entry))
    }

    pub(crate) fn whole_legend(&self) -> Markup {
        self.legend(0..self.names.len())
    }
}

pub(crate) fn legend(entries: impl Iterator<Item = Element>) -> Markup {
    element("ul").class("legend").add_all(entries).into()
}

pub(crate) fn entry(number: usize, text: &str, note: Option<&str>) -> Element {
    let sign = element("svg").class("key");
    let sign = sign.add(element("use").with("href", marker(number, PointSize::Usual)));
    let entry = element("li").class(series_class(number));
    let entry = entry.with("data-key", number).add(sign);
    let entry = entry.isolated(&name(text));
    match note {
        Some(note) => entry.add(element("small").text(note)),
        None => entry,
    }
}
