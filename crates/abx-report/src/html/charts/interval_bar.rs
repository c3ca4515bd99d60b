//! An interval as a bar on a scale: the picture in a row of a table, and the
//! axis below all of them.

use crate::html::charts::plot::{
    BAR_MARKER, STRETCHED, horizontal, percent as share, px, stretched, vertical,
};
use crate::html::charts::scale::Scale;
use crate::html::markup::{Element, element};

pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) tip: String,
    pub(crate) band: Option<[f64; 2]>,
    pub(crate) rule: Option<f64>,
    pub(crate) dots: Vec<f64>,
    pub(crate) point: Option<f64>,
    /// Lower and upper end of the bar; `None` for no bar.
    pub(crate) ends: Option<[BarEnd; 2]>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BarEnd {
    at: f64,
    is_open: bool,
}

impl BarEnd {
    pub(crate) fn new(at: f64, is_open: bool) -> BarEnd {
        BarEnd { at, is_open }
    }
}

impl Bar {
    pub(crate) fn markup(self, scale: Scale) -> Element {
        let mut picture = element("svg")
            .class("bar")
            .with("height", px(HEIGHT))
            .with("role", "img")
            .with("aria-label", &self.label);
        if let Some(band) = self.band {
            let [left, right] = band.map(|end| scale.place(end));
            let shade = element("rect")
                .class("margin")
                .with("x", share(left))
                .with("y", 0);
            let width = share(right - left);
            picture = picture.add(shade.with("width", width).with("height", px(HEIGHT)));
        }
        if let Some(at) = self.rule {
            picture = picture.add(vertical(scale.place(at), [0.0, HEIGHT]).class("one"));
        }
        if !self.dots.is_empty() {
            let dot = |at: &f64| format!("M{} {DOTS_AT}h0", px(scale.place(*at) * STRETCHED));
            let dots: String = self.dots.iter().map(dot).collect();
            let dots = element("path").class("dots").with("d", dots);
            picture = picture.add(stretched(HEIGHT).add(dots));
        }
        if let Some([low, high]) = self.ends {
            picture = picture
                .add(line([low, high].map(|end| scale.place(end.at))))
                .add(end(low, scale, "#left"))
                .add(end(high, scale, "#right"));
        }
        match self.point {
            None => picture,
            Some(at) => picture.add(
                element("use")
                    .class("pt")
                    .with("href", format!("#m{BAR_MARKER}"))
                    .with("x", share(scale.place(at)))
                    .with("y", BAR_AT)
                    .with("aria-label", &self.tip),
            ),
        }
    }
}

fn line([from, to]: [f64; 2]) -> Element {
    let line = element("line").class("interval").with("x1", share(from));
    line.with("x2", share(to))
        .with("y1", BAR_AT)
        .with("y2", BAR_AT)
}

/// A stop, or an arrow where the bar goes on.
fn end(end: BarEnd, scale: Scale, arrow: &str) -> Element {
    let at = scale.place(end.at);
    if end.is_open || !scale.holds(end.at) {
        element("use")
            .with("href", arrow)
            .with("x", share(at))
            .with("y", BAR_AT)
    } else {
        vertical(at, [BAR_AT - 5.0, BAR_AT + 5.0]).class("interval")
    }
}

/// The axis below all bars of a table, its ticks written by `show`.
pub(crate) fn axis(scale: Scale, show: impl Fn(f64) -> String) -> Element {
    let ticks = scale.ticks(TICKS);
    let is_dense = ticks.len() > 4;
    // Where there is no difference is written on a narrow page too.
    let number = ticks.iter().position(|tick| (tick - 1.0).abs() < 1e-9);
    let kept = number.unwrap_or_default() % 2;
    let ticks = ticks.iter().enumerate().flat_map(|(index, tick)| {
        let at = scale.place(*tick);
        let minor = if is_dense && index % 2 != kept {
            " minor"
        } else {
            ""
        };
        let text = element("text").class(format!("tick x{minor}"));
        let text = text.with("x", share(at)).with("y", 20).text(&show(*tick));
        [vertical(at, [0.0, 5.0]).class(format!("axis{minor}")), text]
    });
    element("svg")
        .class("bar")
        .with("height", 26)
        .with("aria-hidden", "true")
        .add(horizontal("0".to_owned()).class("axis"))
        .add_all(ticks)
}

/// The height of a row's picture, and where in it things are.
const HEIGHT: f64 = 34.0;
const BAR_AT: f64 = 13.0;
const DOTS_AT: f64 = 27.0;
const TICKS: usize = 7;
