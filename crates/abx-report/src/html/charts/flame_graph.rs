//! Call chains as a flame graph: a row of boxes per depth, callers above callees, each as wide as
//! its CPU time.
//!
//! Places along x are percentages, and each box clips its own name, so a graph is legible at any
//! width. The page's program adds zoom, search and keyboard navigation.

use abx_verdict::{DEEPER, FlameFunction, FlameGraph, Purpose};

use crate::html::charts::plot::PlotCaption;
use crate::html::markup::{Element, Markup, element};
use crate::words::units::GLUE;
use crate::words::wrap::{clean_name, shorten};

/// The drawing of a graph.
pub(crate) struct FlameDrawing {
    pub(crate) svg: Markup,
    /// Functions below this share of the whole are summed up.
    pub(crate) share_min: f64,
}

/// The subjects whose call chains a graph shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlameSides {
    One,
    /// A subject and its baseline. A box is as wide as the larger of both times.
    Both,
}

/// Functions below this share of the whole are summed up even if the graph is small.
const SHARE_MIN: f64 = 0.001;
/// The factor by which that share grows until a graph is small enough.
const COARSER: f64 = 1.3;
/// Boxes of a graph, at most.
const BOXES_MAX: usize = 3_000;
/// Letters of a name, at most: more than any screen shows in a box.
const NAME_LETTERS: usize = 100;
/// The height of a row in pixels.
const ROW: usize = 18;

/// Draws a graph in at most `bytes_max` bytes. Functions that are too small for that are summed up.
pub(crate) fn draw_flame_graph(
    caption: &PlotCaption,
    graph: &FlameGraph,
    sides: FlameSides,
    bytes_max: usize,
) -> FlameDrawing {
    let root = FlameCall::root(graph, sides);
    let mut share_min = SHARE_MIN;
    loop {
        let boxes = root.boxes(share_min);
        let is_last = share_min > 1.0;
        if boxes.len() <= BOXES_MAX || is_last {
            let svg = svg(caption, &boxes, sides);
            if svg.len() <= bytes_max || is_last {
                return FlameDrawing { svg, share_min };
            }
        }
        share_min *= COARSER;
    }
}

/// A function with the width that it and its callees take, in µs.
struct FlameCall<'a> {
    name: &'a str,
    us: [f64; 2],
    width: f64,
    purpose: Option<Purpose>,
    callees: Vec<FlameCall<'a>>,
}

/// A box of a graph.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FlameBox<'a> {
    depth: usize,
    /// Shares of the graph's width.
    from: f64,
    width: f64,
    name: &'a str,
    us: [f64; 2],
    /// `None` for the root and for a sum of several functions.
    purpose: Option<Purpose>,
}

impl<'a> FlameCall<'a> {
    fn root(graph: &'a FlameGraph, sides: FlameSides) -> FlameCall<'a> {
        let us = graph.us_per_response;
        FlameCall::of("all", us, None, &graph.functions, sides)
    }

    fn of(
        name: &'a str,
        us: [f64; 2],
        purpose: Option<Purpose>,
        callees: &'a [FlameFunction],
        sides: FlameSides,
    ) -> FlameCall<'a> {
        let callees = callees.iter().map(|callee| {
            let purpose = Some(callee.purpose);
            let us = callee.us_per_response;
            FlameCall::of(&callee.name, us, purpose, &callee.callees, sides)
        });
        let callees: Vec<FlameCall> = callees.collect();
        // The time of the function itself, without its callees.
        let alone = [0, 1].map(|side| {
            let below: f64 = callees.iter().map(|callee| callee.us[side]).sum();
            (us[side] - below).max(0.0)
        });
        let alone = match sides {
            FlameSides::One => alone[0],
            FlameSides::Both => alone[0].max(alone[1]),
        };
        FlameCall {
            name,
            us,
            width: alone + callees.iter().map(|callee| callee.width).sum::<f64>(),
            purpose,
            callees,
        }
    }

    /// The boxes of a graph with this root, callers first.
    fn boxes(&self, share_min: f64) -> Vec<FlameBox<'a>> {
        let mut boxes = Vec::new();
        if self.width > 0.0 {
            self.place(0, 0.0, (self.width, share_min), &mut boxes);
        }
        boxes
    }

    fn place(
        &self,
        depth: usize,
        from: f64,
        (whole, share_min): (f64, f64),
        boxes: &mut Vec<FlameBox<'a>>,
    ) {
        boxes.push(FlameBox {
            depth,
            from,
            width: self.width / whole,
            name: self.name,
            us: self.us,
            purpose: self.purpose,
        });
        let mut next = from;
        let is_shown = |callee: &&FlameCall| callee.width / whole >= share_min;
        for callee in self.callees.iter().filter(is_shown) {
            callee.place(depth + 1, next, (whole, share_min), boxes);
            next += callee.width / whole;
        }
        let small = || self.callees.iter().filter(|callee| !is_shown(callee));
        let width = small().map(|callee| callee.width).sum::<f64>() / whole;
        if width >= share_min {
            boxes.push(FlameBox {
                depth: depth + 1,
                from: next,
                width,
                name: DEEPER,
                us: [0, 1].map(|side| small().map(|callee| callee.us[side]).sum()),
                purpose: None,
            });
        }
    }
}

fn svg(caption: &PlotCaption, boxes: &[FlameBox], sides: FlameSides) -> Markup {
    let [title, description] = ["title", "desc"].map(|part| format!("{}-{part}", caption.id));
    let depth = boxes.iter().map(|each| each.depth).max().unwrap_or(0);
    let rows = (0..=depth).map(|depth| {
        let of_row = boxes.iter().filter(|each| each.depth == depth);
        let row = element("svg").with("y", depth * ROW).with("height", ROW);
        row.add_all(of_row.map(|each| box_markup(each, sides)))
    });
    element("svg")
        .class("flame")
        .with("height", (depth + 1) * ROW)
        .with("role", "img")
        .with("aria-labelledby", format!("{title} {description}"))
        .add(element("title").with("id", title).text(&caption.title))
        .add(
            element("desc")
                .with("id", description)
                .text(&caption.description),
        )
        .add_all(rows)
        .into()
}

fn box_markup(flame_box: &FlameBox, sides: FlameSides) -> Element {
    let [ours, theirs] = flame_box.us.map(micros);
    let us = match sides {
        FlameSides::One => ours,
        FlameSides::Both => format!("{ours} {theirs}"),
    };
    let share = |share: f64| format!("{}%", (share * 100_000.0).round() / 1_000.0 + 0.0);
    let name = shorten(&clean_name(flame_box.name), NAME_LETTERS);
    element("svg")
        .class(class(flame_box, sides))
        .with("x", share(flame_box.from))
        .with("width", share(flame_box.width))
        .with("data-us", us)
        .add(element("use").with("href", "#box"))
        .add(element("text").text(&name))
}

/// The colour of a box: the purpose of most of its time, or the side that needs more.
fn class(flame_box: &FlameBox, sides: FlameSides) -> &'static str {
    let [ours, theirs] = flame_box.us;
    match (sides, flame_box.purpose) {
        (FlameSides::One, Some(purpose)) => purpose_class(purpose),
        (FlameSides::One, None) => "f",
        (FlameSides::Both, _) => match (ours - theirs) / ours.max(theirs).max(f64::MIN_POSITIVE) {
            apart if apart > MUCH => "f more2",
            apart if apart > LITTLE => "f more1",
            apart if apart < -MUCH => "f less2",
            apart if apart < -LITTLE => "f less1",
            _ => "f",
        },
    }
}

/// Differences of a box, as a share of its larger side, above which it has a colour, and a strong
/// colour.
const LITTLE: f64 = 0.1;
const MUCH: f64 = 0.5;

/// The colour of a purpose.
pub(crate) fn purpose_class(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::OwnCode => "f f0",
        Purpose::Libraries => "f f1",
        Purpose::Sending => "f f2",
        Purpose::Receiving => "f f3",
        Purpose::Files => "f f4",
        Purpose::Waiting => "f f5",
        Purpose::Connections => "f f6",
        Purpose::Locks
        | Purpose::Memory
        | Purpose::Interruptions
        | Purpose::WholeKernel
        | Purpose::Others => "f f7",
    }
}

/// µs with as many digits as are significant.
fn micros(us: f64) -> String {
    if us < 0.1 {
        format!("{us:.3}")
    } else {
        format!("{us:.2}")
    }
}

/// The share below which functions are summed up, in words.
pub(crate) fn share_in_words(share_min: f64) -> String {
    format!("{:.1}{GLUE}%", share_min * 100.0)
}

/// The shape of a box; each box refers to it.
pub(crate) fn flame_box() -> Element {
    element("rect")
        .with("id", "box")
        .with("width", "100%")
        .with("height", ROW - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn function(name: &str, us: [f64; 2], callees: Vec<FlameFunction>) -> FlameFunction {
        FlameFunction {
            name: name.to_owned(),
            us_per_response: us,
            purpose: Purpose::OwnCode,
            callees,
        }
    }

    fn graph(functions: Vec<FlameFunction>) -> FlameGraph {
        let sum = |side: usize| {
            functions
                .iter()
                .map(|function| function.us_per_response[side])
                .sum()
        };
        FlameGraph {
            us_per_response: [sum(0), sum(1)],
            functions,
        }
    }

    fn caption() -> PlotCaption {
        PlotCaption {
            id: "flame-0".to_owned(),
            title: "a title".to_owned(),
            description: "what it shows".to_owned(),
        }
    }

    #[test]
    fn boxes_are_below_their_callers_and_as_wide_as_their_time() {
        // Method: main takes 8 of 10 µs, and two functions that it calls take 2 and 4 µs.
        let callees = vec![
            function("a", [2.0, 0.0], vec![]),
            function("b", [4.0, 0.0], vec![]),
        ];
        let graph = graph(vec![
            function("main", [8.0, 0.0], callees),
            function("other", [2.0, 0.0], vec![]),
        ]);
        let boxes = FlameCall::root(&graph, FlameSides::One).boxes(SHARE_MIN);
        let drawn: Vec<(usize, f64, f64, &str)> = boxes
            .iter()
            .map(|each| (each.depth, each.from, each.width, each.name))
            .collect();
        let expected = [
            (0, 0.0, 1.0, "all"),
            (1, 0.0, 0.8, "main"),
            (2, 0.0, 0.2, "a"),
            (2, 0.2, 0.4, "b"),
            (1, 0.8, 0.2, "other"),
        ];
        assert_eq!(drawn, expected);
    }

    #[test]
    fn a_graph_of_a_pair_has_the_functions_of_both_sides() {
        // Method: a function of each side alone, and one of both; each as wide as its larger side.
        let graph = graph(vec![
            function("both", [3.0, 1.0], vec![]),
            function("ours", [2.0, 0.0], vec![]),
            function("theirs", [0.0, 5.0], vec![]),
        ]);
        let boxes = FlameCall::root(&graph, FlameSides::Both).boxes(SHARE_MIN);
        let widths: Vec<f64> = boxes.iter().map(|each| each.width).collect();
        assert_eq!(widths, [1.0, 0.3, 0.2, 0.5]);
        let classes = boxes.iter().map(|each| class(each, FlameSides::Both));
        let classes: Vec<&str> = classes.collect();
        assert_eq!(classes, ["f less1", "f more2", "f more2", "f less2"]);
    }

    #[test]
    fn small_functions_are_summed_up() {
        // Method: two functions of 0.05 % and 0.06 %, which together are large enough to be seen.
        let graph = graph(vec![
            function("large", [9.989, 0.0], vec![]),
            function("small", [0.005, 0.0], vec![]),
            function("tiny", [0.006, 0.0], vec![]),
        ]);
        let boxes = FlameCall::root(&graph, FlameSides::One).boxes(SHARE_MIN);
        let names: Vec<&str> = boxes.iter().map(|each| each.name).collect();
        assert_eq!(names, ["all", "large", DEEPER]);
        assert!((boxes[2].us[0] - 0.011).abs() < 1e-9);
    }

    #[test]
    fn a_large_graph_is_drawn_in_few_bytes() {
        // Method: 900 functions that each call three others, with long names.
        let name = |number: usize| format!("{number}-{}", "x".repeat(200));
        let functions = (0..900).map(|number| {
            let callees = (0..3).map(|callee| function(&name(callee), [1.0, 0.0], vec![]));
            function(&name(number), [3.0, 0.0], callees.collect())
        });
        let graph = graph(functions.collect());
        let drawing = draw_flame_graph(&caption(), &graph, FlameSides::One, 150_000);
        assert!(drawing.svg.len() <= 150_000, "{}", drawing.svg.len());
        assert!(drawing.share_min > SHARE_MIN);
    }

    proptest! {
        #[test]
        fn names_of_functions_are_only_names(name in any::<String>(), hostile in "[<>&\"'/a-z!-]{0,40}") {
            // Method: with any name of a function, the graph has the same tags.
            let drawn = |name: &str| {
                let graph = graph(vec![function(name, [1.0, 0.0], vec![])]);
                draw_flame_graph(&caption(), &graph, FlameSides::One, 150_000).svg.into_string()
            };
            let (svg, plain) = (drawn(&format!("{hostile}{name}")), drawn("main"));
            for sign in ['<', '>', '"'] {
                prop_assert_eq!(svg.matches(sign).count(), plain.matches(sign).count(), "{}", svg);
            }
        }
    }
}
