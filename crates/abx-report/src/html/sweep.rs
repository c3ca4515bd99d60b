//! Throughput from load to load, where loads differ in connections or rate alone.

use abx_evidence::StudyRecord;
use abx_evidence::record::{LoadRecord, LoadSettings};

use super::cast::Cast;
use super::grid::{Cells, Figure, Grid, side_by_side};
use super::markup::Markup;
use super::plot::{Axis, Place, Plot, Stroke, Words};
use super::scale::{Scale, plain};
use super::slices::rate;
use crate::terminal::requests;
use crate::units::{figure, or_unknown};
use crate::verdict::name;

/// A plot for each sweep.
pub(crate) fn sweep(record: &StudyRecord, cast: &Cast) -> Markup {
    let sweeps = sweeps(record);
    let figures: Vec<Figure> = { sweeps.iter().enumerate() }
        .filter_map(|(number, sweep)| figure_of(record, cast, number, sweep))
        .collect();
    side_by_side(figures)
}

/// Loads that differ in one number alone.
struct Sweep<'a> {
    over: Over,
    /// That number and the load, in the order of the numbers.
    steps: Vec<(f64, &'a LoadRecord)>,
}

/// What differs between the loads of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Connections,
    Rate,
}

impl Over {
    const ALL: [Over; 2] = [Over::Connections, Over::Rate];

    fn label(self) -> &'static str {
        match self {
            Over::Connections => "connections",
            Over::Rate => "offered requests/s",
        }
    }

    fn of(self, settings: &LoadSettings) -> Option<f64> {
        match self {
            Over::Connections => Some(settings.connections.into()),
            Over::Rate => settings.arrivals.rate_per_s,
        }
    }

    /// The settings with the number left out that may differ.
    fn others(self, settings: &LoadSettings) -> LoadSettings {
        let mut others = settings.clone();
        match self {
            Over::Connections => others.connections = 0,
            Over::Rate => {
                others.arrivals.rate_per_s = None;
                // It says the rate in words.
                others.arrivals.text = String::new();
            }
        }
        others
    }
}

fn sweeps(record: &StudyRecord) -> Vec<Sweep<'_>> {
    let mut sweeps = Vec::new();
    for over in Over::ALL {
        let mut groups: Vec<(LoadSettings, Vec<(f64, &LoadRecord)>)> = Vec::new();
        for load in &record.loads {
            let Some(value) = over.of(&load.settings) else {
                continue;
            };
            let others = over.others(&load.settings);
            match groups.iter_mut().find(|(settings, _)| *settings == others) {
                Some((_, steps)) => steps.push((value, load)),
                None => groups.push((others, vec![(value, load)])),
            }
        }
        for (_, mut steps) in groups {
            steps.sort_by(|(one, _), (other, _)| one.total_cmp(other));
            steps.dedup_by(|(one, _), (other, _)| one == other);
            if steps.len() > 1 {
                sweeps.push(Sweep { over, steps });
            }
        }
    }
    sweeps
}

fn throughput(record: &StudyRecord, load: &LoadRecord, subject: &str) -> Option<f64> {
    let all = record.summaries.iter();
    let mut found = all.filter(|one| one.load == load.name && one.subject == subject);
    found.next()?.throughput_per_s
}

fn figure_of(record: &StudyRecord, cast: &Cast, number: usize, sweep: &Sweep) -> Option<Figure> {
    let each = |subject: &str| {
        let steps = sweep.steps.iter();
        let known = steps.filter_map(|(x, load)| {
            let y = throughput(record, load, subject)?;
            Some(Place { x: *x, y })
        });
        known.collect::<Vec<Place>>()
    };
    let lines: Vec<(usize, &str, Vec<Place>)> = cast
        .iter()
        .map(|(number, subject)| (number, subject, each(subject)))
        .collect();
    let rates = lines
        .iter()
        .flat_map(|(_, _, places)| places.iter().map(|place| place.y));
    let most = rates.fold(0.0, f64::max);
    let over = sweep.over.label();
    let mut x = Axis::new(
        &format!("{over}, log scale"),
        Scale::log_around(sweep.steps.iter().map(|(x, _)| *x))?,
        sweep.steps.len().max(2),
        rate,
    );
    x.ticks.clear();
    for (value, _) in &sweep.steps {
        x.ticks.push(super::plot::Tick {
            at: *value,
            text: rate(*value),
            is_minor: false,
        });
    }
    let y = Axis::new("requests/s", Scale::from_zero(most), 6, rate);
    let asked = requests(&sweep.steps[0].1.settings);
    let title = format!("{asked}: throughput against {over}");
    let words = Words {
        id: format!("sweep-{number}"),
        title: title.clone(),
        description: format!(
            "Throughput of each subject at {} values of {over}.",
            sweep.steps.len()
        ),
    };
    let mut plot = Plot::new(words, [x, y], 240.0);
    for (number, subject, places) in &lines {
        plot.curve(*number, Stroke::Solid, places);
        for place in places {
            let tip = format!(
                "{}, {} {over}: {} requests/s",
                name(subject),
                plain(place.x),
                figure(place.y)
            );
            plot.point(*number, *place, &tip);
        }
    }
    Some(Figure {
        title: Some(title.clone()),
        legend: cast.whole_legend(),
        body: plot.svg(),
        note: String::new(),
        table: Some(table(record, cast, sweep, title)),
    })
}

fn table(record: &StudyRecord, cast: &Cast, sweep: &Sweep, caption: String) -> Grid {
    let row = |(x, load): &(f64, &LoadRecord)| {
        let mut cells = vec![rate(*x)];
        cells.extend(
            cast.iter()
                .map(|(_, subject)| or_unknown(throughput(record, load, subject), figure)),
        );
        cells
    };
    let mut headers = vec![sweep.over.label().to_owned()];
    headers.extend(
        cast.iter()
            .map(|(_, subject)| format!("{}, requests/s", name(subject))),
    );
    Grid {
        caption,
        headers,
        rows: sweep.steps.iter().map(row).collect(),
        names: 1,
        cells: Cells::Figures,
    }
}
