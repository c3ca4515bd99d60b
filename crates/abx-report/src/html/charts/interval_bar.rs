//! An interval as a bar on a scale: the picture in a row of a table, and the axis below all bars.

use crate::html::charts::plot::{
    BAR_MARKER, STRETCHED, horizontal, percent as share, px, stretched, vertical,
};
use crate::html::charts::scale::Scale;
use crate::html::markup::{Element, Markup, element};

/// A bar. It has no words, because its row states the same figures.
pub(crate) struct Bar {
    pub(crate) backdrop: Backdrop,
    pub(crate) dots: Vec<f64>,
    pub(crate) point: Option<f64>,
    /// Lower and upper end of the bar; `None` for no bar.
    pub(crate) ends: Option<[BarEnd; 2]>,
}

/// The background of the bars of a table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Backdrop {
    /// A hatched range.
    pub(crate) band: Option<[f64; 2]>,
    /// A vertical line.
    pub(crate) rule: Option<f64>,
    /// Its id in the page; empty if only one bar has it.
    pub(crate) id: String,
    /// Whether a bar above draws it already, so that this one refers to it.
    pub(crate) is_drawn: bool,
}

impl Backdrop {
    fn markup(&self, scale: Scale) -> Markup {
        if self.is_drawn {
            return element("use").with("href", format!("#{}", self.id)).into();
        }
        let mut parts = Markup::new();
        if let Some(band) = self.band {
            let [left, right] = band.map(|end| scale.place(end));
            let shade = element("rect").class("margin").with("x", share(left));
            let width = share(right - left);
            parts.push(shade.with("width", width).with("height", px(HEIGHT)));
        }
        if let Some(at) = self.rule {
            parts.push(vertical(scale.place(at), [0.0, HEIGHT]).class("one"));
        }
        if self.id.is_empty() {
            return parts;
        }
        element("g").with("id", &self.id).add(parts).into()
    }
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
        let mut picture = element("svg").class("bar").with("height", px(HEIGHT));
        picture = picture.add(self.backdrop.markup(scale));
        let along = |at: f64| px(scale.place(at) * STRETCHED);
        let path = |class, d: String| element("path").class(class).with("d", d);
        let dot = |at: &f64| format!("M{} {DOTS_AT}h0", along(*at));
        let dots: String = self.dots.iter().map(dot).collect();
        let dots = (!dots.is_empty()).then(|| path("dots", dots));
        let line = self.ends.map(|ends| {
            let [low, high] = ends.map(|end| along(end.at));
            let stops = ends.iter().filter(|end| !end.is_open_ended(scale));
            let stops = stops.map(|end| format!("M{} {}v10", along(end.at), BAR_AT - 5.0));
            let stops: String = stops.collect();
            path("interval", format!("M{low} {BAR_AT}H{high}{stops}"))
        });
        let lines: Markup = [dots, line].into_iter().flatten().collect();
        if !lines.is_empty() {
            picture = picture.add(stretched(HEIGHT).add(lines));
        }
        let arrows = self.ends.into_iter().flat_map(|[low, high]| {
            let arrows = [(low, "#left"), (high, "#right")].into_iter();
            arrows.filter(|(end, _)| end.is_open_ended(scale))
        });
        let sign = |at: f64, href: &str| {
            let sign = element("use").with("href", href);
            sign.with("x", share(scale.place(at))).with("y", BAR_AT)
        };
        let point = self.point;
        picture
            .add_all(arrows.map(|(end, arrow)| sign(end.at, arrow)))
            .add_all(point.map(|at| sign(at, &format!("#m{BAR_MARKER}")).class("pt")))
    }
}

impl BarEnd {
    /// Whether the end is an arrow instead of a stop.
    fn is_open_ended(&self, scale: Scale) -> bool {
        self.is_open || !scale.holds(self.at)
    }
}

/// The axis below all bars of a table, its ticks written by `show`.
pub(crate) fn axis(scale: Scale, show: impl Fn(f64) -> String) -> Element {
    let ticks = scale.ticks(TICKS);
    let is_dense = ticks.len() > 4;
    // A narrow page leaves out every second tick, but never the one at 1.
    let one = ticks.iter().position(|tick| (tick - 1.0).abs() < 1e-9);
    let parity = one.unwrap_or_default() % 2;
    let ticks = ticks.iter().enumerate().flat_map(|(index, tick)| {
        let at = scale.place(*tick);
        let minor = if is_dense && index % 2 != parity {
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

/// The height of a row's picture, and the places of the bar and the dots in it.
const HEIGHT: f64 = 34.0;
const BAR_AT: f64 = 13.0;
const DOTS_AT: f64 = 27.0;
const TICKS: usize = 7;
