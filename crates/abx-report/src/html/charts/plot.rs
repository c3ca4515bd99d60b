//! One plot as SVG: axes, grid, shades, curves and points.
//!
//! Places along x are percentages and places along y are pixels, so a plot is as wide as its page
//! while its letters keep their size. Curves cannot have percentages, so they are in a part that is
//! stretched. The style sheet pads the area by [`PAD_TOP`] and [`PAD_BOTTOM`].

use std::collections::BTreeMap;

use crate::html::charts::corners::corners;
use crate::html::charts::scale::Scale;
use crate::html::markup::{Element, Markup, element};

pub(crate) struct Plot {
    id: String,
    title: String,
    description: String,
    x: PlotAxis,
    y: PlotAxis,
    height: f64,
    shades: Markup,
    rules: Markup,
    series: BTreeMap<usize, PlotSeries>,
    points: PointSize,
    /// The unit of all points' values.
    unit: String,
}

#[derive(Default)]
struct PlotSeries {
    bands: Markup,
    curves: Markup,
    points: Markup,
}

pub(crate) struct PlotAxis {
    pub(crate) label: String,
    pub(crate) scale: Scale,
    pub(crate) ticks: Vec<Tick>,
}

pub(crate) struct Tick {
    pub(crate) at: f64,
    pub(crate) text: String,
    /// Whether a narrow page leaves it out.
    pub(crate) is_minor: bool,
}

/// A plot's id and title, and a description for screen readers.
pub(crate) struct PlotCaption {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) description: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PointSize {
    Usual,
    Small,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stroke {
    Solid,
    /// For values that are only known as "at least".
    AtLeast,
    Thin,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PlotPoint {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

impl PlotAxis {
    /// An axis with at most `most` ticks, each written by `show`.
    pub(crate) fn new(
        label: &str,
        scale: Scale,
        most: usize,
        show: impl Fn(f64) -> String,
    ) -> PlotAxis {
        let values = scale.ticks(most);
        let is_power = |value: f64| (value.log10() - value.log10().round()).abs() < 1e-9;
        let powers = values.iter().filter(|value| is_power(**value)).count();
        let is_dense = values.len() > NARROW_TICKS;
        let tick = |(index, at): (usize, f64)| Tick {
            at,
            text: show(at),
            is_minor: is_dense
                && if powers > 1 {
                    !is_power(at)
                } else {
                    index % 2 == 1
                },
        };
        PlotAxis {
            label: label.to_owned(),
            scale,
            ticks: values.into_iter().enumerate().map(tick).collect(),
        }
    }
}

impl Plot {
    /// An empty plot with an area of `height` pixels.
    pub(crate) fn new(caption: PlotCaption, [x, y]: [PlotAxis; 2], height: f64) -> Plot {
        Plot {
            id: caption.id,
            title: caption.title,
            description: caption.description,
            x,
            y,
            height,
            shades: Markup::new(),
            rules: Markup::new(),
            series: BTreeMap::new(),
            points: PointSize::Usual,
            unit: String::new(),
        }
    }

    pub(crate) fn with_points(mut self, size: PointSize) -> Plot {
        self.points = size;
        self
    }

    /// Sets the unit that tooltips show after the value of each point.
    pub(crate) fn in_unit(mut self, unit: &str) -> Plot {
        unit.clone_into(&mut self.unit);
        self
    }

    pub(crate) fn shade_y(&mut self, class: &'static str, [low, high]: [f64; 2]) {
        let [bottom, top] = [low, high].map(|value| self.y_px(value));
        let shade = element("rect").class(class).with("x", 0).with("y", px(top));
        let shade = shade.with("width", "100%").with("height", px(bottom - top));
        self.shades.push(shade);
    }

    pub(crate) fn shade_x(&mut self, class: &'static str, [low, high]: [f64; 2]) {
        let [left, right] = [low, high].map(|value| self.x_share(value));
        let shade = element("rect")
            .class(class)
            .with("x", percent(left))
            .with("y", 0);
        let width = percent(right - left);
        self.shades
            .push(shade.with("width", width).with("height", px(self.height)));
    }

    pub(crate) fn rule_y(&mut self, class: &'static str, at: f64) {
        let y = px(self.y_px(at));
        self.rules.push(horizontal(y).class(class));
    }

    pub(crate) fn rule_x(&mut self, class: &'static str, at: f64) {
        let line = vertical(self.x_share(at), [0.0, self.height]);
        self.rules.push(line.class(class));
    }

    pub(crate) fn sign_at(&mut self, class: &'static str, x: f64) {
        let line = vertical(self.x_share(x), [self.height - SIGN, self.height]);
        self.rules.push(line.class(class));
    }

    /// A curve of one subject; nothing for fewer than two places.
    pub(crate) fn curve(&mut self, subject: usize, stroke: Stroke, places: &[PlotPoint]) {
        if places.len() < 2 {
            return;
        }
        let places: Vec<[f64; 2]> = places
            .iter()
            .map(|place| [self.x_share(place.x) * STRETCHED, self.y_px(place.y)])
            .collect();
        let path = line_path(&corners(&places));
        let class = match stroke {
            Stroke::Solid => "curve",
            Stroke::AtLeast => "curve at-least",
            Stroke::Thin => "curve thin",
        };
        let curve = element("path").class(class).with("d", path);
        self.series.entry(subject).or_default().curves.push(curve);
    }

    /// Shades everything between two values of y in one subject's colour.
    pub(crate) fn band(&mut self, subject: usize, [low, high]: [f64; 2]) {
        let [bottom, top] = [low, high].map(|value| self.y_px(value));
        let band = element("rect")
            .class("band")
            .with("x", 0)
            .with("y", px(top));
        let band = band.with("width", "100%").with("height", px(bottom - top));
        self.series.entry(subject).or_default().bands.push(band);
    }

    /// A point of one subject. Its tooltip has the subject's name from the legend, `tip` and the
    /// unit.
    pub(crate) fn point(&mut self, subject: usize, place: PlotPoint, tip: &str) {
        let marker = marker(subject, self.points);
        let mark = element("use").with("href", marker);
        let mark = mark
            .with("x", percent(self.x_share(place.x)))
            .with("y", px(self.y_px(place.y)))
            .with("aria-label", tip);
        self.series.entry(subject).or_default().points.push(mark);
    }

    /// A column of one subject between two values of x, from the bottom up to the place `to`, with
    /// `tip` as its tooltip.
    pub(crate) fn column(&mut self, subject: usize, from: f64, to: PlotPoint, tip: &str) {
        let [left, right] = [from, to.x].map(|value| self.x_share(value));
        let top = self.y_px(to.y);
        let column = element("rect").class("pt column");
        let column = column
            .with("x", percent(left))
            .with("width", percent(right - left))
            .with("y", px(top))
            .with("height", px(self.height - top))
            .with("aria-label", tip);
        self.series.entry(subject).or_default().points.push(column);
    }

    pub(crate) fn svg(self) -> Markup {
        let [title, description] = ["title", "desc"].map(|part| format!("{}-{part}", self.id));
        let total = PAD_TOP + self.height + PAD_BOTTOM;
        let mut svg = element("svg")
            .class("plot")
            .with("height", px(total))
            .with("role", "img")
            .with("aria-labelledby", format!("{title} {description}"))
            .add(element("title").with("id", title).text(&self.title))
            .add(
                element("desc")
                    .with("id", description)
                    .text(&self.description),
            )
            .add(self.axes());
        if !self.unit.is_empty() {
            svg = svg.with("data-unit", &self.unit);
        }
        for (subject, series) in self.series {
            let group = element("g").class(series_class(subject));
            let mut group = group.with("data-subject", subject).add(series.bands);
            if !series.curves.is_empty() {
                group = group.add(stretched(self.height).add(series.curves));
            }
            svg = svg.add(group.add(series.points));
        }
        svg.into()
    }

    fn axes(&self) -> Markup {
        let mut axes = self.shades.clone();
        for tick in &self.y.ticks {
            let y = self.y_px(tick.at);
            let text = element("text")
                .class("tick y")
                .with("x", "-8")
                .with("y", px(y + 4.0));
            axes.push(horizontal(px(y)).class("grid"));
            axes.push(text.text(&tick.text));
        }
        for tick in &self.x.ticks {
            let x = self.x_share(tick.at);
            let minor = if tick.is_minor { " minor" } else { "" };
            let line = vertical(x, [self.height, self.height + 5.0]);
            axes.push(line.class(format!("axis{minor}")));
            let text = element("text").class(format!("tick x{minor}"));
            let text = text.with("x", percent(x)).with("y", px(self.height + 18.0));
            axes.push(text.text(&tick.text));
        }
        axes.push(self.rules.clone());
        axes.push(horizontal(px(self.height)).class("axis"));
        let below = |distances: [f64; 3]| distances.map(|distance| self.height + distance);
        axes.push(axis_name(
            "label y",
            "-56",
            &self.y.label,
            [-14.0, -24.0, -11.0],
        ));
        let places = below([36.0, 31.0, 43.0]);
        axes.push(axis_name("label x", "50%", &self.x.label, places));
        axes
    }

    fn x_share(&self, value: f64) -> f64 {
        self.x.scale.place(value)
    }

    fn y_px(&self, value: f64) -> f64 {
        (1.0 - self.y.scale.place(value)) * self.height
    }
}

/// The name of an axis, on one line at `single`, or on two lines at `first` and `second` if a
/// narrow page has no room for one line.
fn axis_name(
    class: &'static str,
    x: &str,
    name: &str,
    [single, first, second]: [f64; 3],
) -> Markup {
    let line = |text: &str, y: f64| {
        let line = element("text").class(class).with("x", x);
        line.with("y", px(y)).text(text)
    };
    if name.chars().count() <= NAME_LETTERS {
        return line(name, single).into();
    }
    let middle = name.len() / 2;
    let blanks = name.match_indices(' ').map(|(at, _)| at);
    match blanks.min_by_key(|at| at.abs_diff(middle)) {
        None => line(name, single).into(),
        Some(at) => [line(&name[..at], first), line(&name[at + 1..], second)]
            .into_iter()
            .collect(),
    }
}

pub(crate) fn series_class(subject: usize) -> String {
    format!("s s{}", subject % SERIES)
}

pub(crate) fn marker(subject: usize, size: PointSize) -> String {
    let prefix = match size {
        PointSize::Usual => 'm',
        PointSize::Small => 'n',
    };
    format!("#{prefix}{}", (subject + subject / SERIES) % MARKERS.len())
}

/// The markers and other shapes that a page defines once.
pub(crate) fn markers<const N: usize>(others: [Element; N]) -> Element {
    let shapes = MARKERS.iter().enumerate().flat_map(|(index, shape)| {
        let small = element("path").with("d", shape);
        [
            shape_path(index),
            small
                .with("id", format!("n{index}"))
                .with("transform", "scale(.6)"),
        ]
    });
    let fills = [
        hatch(),
        pattern("stripes", "M1 0v6M4 0v6"),
        pattern("dashes", "M0 1.5h3M3 4.5h3"),
    ];
    let shapes = shapes.chain(arrows()).chain(fills);
    definitions(shapes.chain(others))
}

pub(crate) fn bar_markers() -> Element {
    let parts = [shape_path(BAR_MARKER)].into_iter().chain(arrows());
    definitions(parts.chain([hatch()]))
}

fn shape_path(index: usize) -> Element {
    let path = element("path").with("d", MARKERS[index]);
    path.with("id", format!("m{index}"))
}

fn arrows() -> [Element; 2] {
    let arrows = [("left", "M4-6L-5 0L4 6z"), ("right", "M-4-6L5 0L-4 6z")];
    arrows.map(|(id, shape)| element("path").with("id", id).with("d", shape))
}

fn hatch() -> Element {
    pattern("hatch", "M0 0v6").with("patternTransform", "rotate(45)")
}

fn definitions(parts: impl Iterator<Item = Element>) -> Element {
    element("svg")
        .class("defs")
        .with("aria-hidden", "true")
        .add(element("defs").add_all(parts))
}

fn pattern(id: &str, lines: &str) -> Element {
    element("pattern")
        .with("id", id)
        .with("width", 6)
        .with("height", 6)
        .with("patternUnits", "userSpaceOnUse")
        .add(element("path").class(id).with("d", lines))
}

/// A part whose x runs from 0 to [`STRETCHED`] at any width.
pub(crate) fn stretched(height: f64) -> Element {
    element("svg")
        .class("stretch")
        .with("viewBox", format!("0 0 {STRETCHED} {}", px(height)))
        .with("preserveAspectRatio", "none")
}

pub(crate) fn horizontal(y: String) -> Element {
    element("line")
        .with("x2", "100%")
        .with("y1", &y)
        .with("y2", y)
}

/// A line at the share `x` of the width.
pub(crate) fn vertical(x: f64, [from, to]: [f64; 2]) -> Element {
    let x = percent(x);
    let line = element("line").with("x1", &x).with("x2", x);
    let line = match from {
        0.0 => line,
        _ => line.with("y1", px(from)),
    };
    line.with("y2", px(to))
}

/// A path through these places, to a tenth of a pixel: the first place, and the steps from each
/// to the next.
fn line_path(places: &[[f64; 2]]) -> String {
    let tenths = |pixels: f64| (pixels * 10.0).round();
    let mut path = String::new();
    let mut last = [0.0; 2];
    for (index, place) in places.iter().enumerate() {
        let place = place.map(tenths);
        let steps = [place[0] - last[0], place[1] - last[1]];
        path.push(if index == 0 { 'M' } else { 'l' });
        for (axis, step) in steps.into_iter().enumerate() {
            let text = px(step / 10.0).replacen("0.", ".", usize::from(step.abs() < 10.0));
            if axis > 0 && !text.starts_with('-') {
                path.push(' ');
            }
            path.push_str(&text);
        }
        last = place;
    }
    path
}

/// Pixels to a tenth.
pub(crate) fn px(value: f64) -> String {
    // Adding zero turns negative zero into zero.
    format!("{}", (value * 10.0).round() / 10.0 + 0.0)
}

/// A share as a percentage to a hundredth.
pub(crate) fn percent(share: f64) -> String {
    format!("{}%", (share * 10_000.0).round() / 100.0 + 0.0)
}

pub(crate) const STRETCHED: f64 = 1000.0;
/// Colours in the style sheet. Further subjects begin again with the first colour.
const SERIES: usize = 8;
const PAD_TOP: f64 = 30.0;
const PAD_BOTTOM: f64 = 44.0;
const SIGN: f64 = 7.0;
/// Ticks that fit on the screen of a telephone.
const NARROW_TICKS: usize = 4;
/// Letters of an axis' name that fit on the screen of a telephone.
const NAME_LETTERS: usize = 36;

/// The marker on bars: the diamond.
pub(crate) const BAR_MARKER: usize = 3;

/// Circle, square, triangle, diamond, triangle down, plus, cross and bar,
/// around 0 0.
const MARKERS: [&str; 8] = [
    "M-3.8 0a3.8 3.8 0 1 0 7.6 0a3.8 3.8 0 1 0-7.6 0z",
    "M-3.4-3.4h6.8v6.8h-6.8z",
    "M0-4.6L4.4 3.5H-4.4z",
    "M0-5L5 0L0 5L-5 0z",
    "M0 4.6L4.4-3.5H-4.4z",
    "M-1.4-4.6h2.8v3.2h3.2v2.8h-3.2v3.2h-2.8v-3.2h-3.2v-2.8h3.2z",
    "M-4.2-2.2L-2.2-4.2 0-2 2.2-4.2 4.2-2.2 2 0 4.2 2.2 2.2 4.2 0 2-2.2 4.2-4.2 2.2-2 0z",
    "M-1.7-4.8h3.4v9.6h-3.4z",
];

#[cfg(test)]
mod tests {
    use crate::html::charts::scale::plain;

    use super::*;

    fn plot() -> Plot {
        let axis = |label: &str| PlotAxis::new(label, Scale::linear(0.0, 10.0), 6, plain);
        let caption = PlotCaption {
            id: "p".to_owned(),
            title: "a title".to_owned(),
            description: "what it shows".to_owned(),
        };
        Plot::new(caption, [axis("x"), axis("y")], 200.0)
    }

    #[test]
    fn places_are_percentages_across_and_pixels_down() {
        // Method: a point at a quarter of the width and at three quarters of the height.
        let mut plot = plot();
        plot.point(0, PlotPoint { x: 2.5, y: 7.5 }, "a < b");
        let svg = plot.svg().into_string();
        let point = "href=\"#m0\" x=\"25%\" y=\"50\" aria-label=\"a &lt; b\"";
        assert!(svg.contains(point), "{svg}");
        assert!(svg.contains("aria-labelledby=\"p-title p-desc\""), "{svg}");
    }

    #[test]
    fn curves_leave_out_places_that_look_the_same() {
        // Method: three places, two of them less than a tenth of a pixel apart; and a single
        // place, which is no curve.
        let mut plot = plot();
        let at = |x, y| PlotPoint { x, y };
        plot.curve(
            1,
            Stroke::Solid,
            &[at(0.0, 0.0), at(0.00001, 0.0), at(10.0, 10.0)],
        );
        plot.curve(1, Stroke::Solid, &[at(0.0, 0.0)]);
        let svg = plot.svg().into_string();
        assert!(svg.contains("d=\"M0 200l1000-200\""), "{svg}");
        assert_eq!(svg.matches("class=\"curve\"").count(), 1);
    }

    #[test]
    fn a_long_name_of_an_axis_is_broken_near_its_middle() {
        // Method: a name that fits, one that does not, and one that cannot be broken. Half of a
        // long name fits on 390 pixels at the width of DejaVu Sans, bold.
        let texts = |name: &str| {
            let svg = axis_name("label y", "-56", name, [1.0, 2.0, 3.0]).into_string();
            let parts = svg.split("</text>").filter(|part| !part.is_empty());
            let of = |part: &str| part.split_once(" y=").unwrap().1.replace('"', "");
            parts.map(of).collect::<Vec<String>>()
        };
        assert_eq!(texts("a name of some words"), ["1>a name of some words"]);
        let long = "p99.9 time to the last listener ÷ nginx's, log scale";
        let both = texts(long);
        assert_eq!(
            both,
            [
                "2>p99.9 time to the last",
                "3>listener ÷ nginx&#39;s, log scale"
            ]
        );
        assert_eq!(texts(&"a".repeat(40)).len(), 1);
        const WIDEST: f64 = 8.4;
        let room = f64::from(390 - 2 * 16 - 8);
        assert!(NAME_LETTERS as f64 * WIDEST <= room);
    }

    #[test]
    fn subjects_differ_in_colour_or_marker() {
        // Method: as many subjects as there are pairs of colours and markers.
        let look = |number| (series_class(number), marker(number, PointSize::Usual));
        let looks: std::collections::BTreeSet<_> = (0..64).map(look).collect();
        assert_eq!(looks.len(), 64);
    }
}
