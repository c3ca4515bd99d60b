//! Simplifies a line without a visible difference.

/// The distance of the line from a place that it leaves out, at most, in pixels: less than half of
/// what screens can show.
const APART_MAX: f64 = 0.2;

/// The necessary places of a line, by the method of Douglas and Peucker: the first, the last, and
/// repeatedly the place that is farthest from the line so far, until none is farther away than
/// [`APART_MAX`].
pub(super) fn corners(places: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let Some(last) = places.len().checked_sub(1) else {
        return Vec::new();
    };
    let mut is_corner = vec![false; places.len()];
    is_corner[0] = true;
    is_corner[last] = true;
    let mut spans = vec![(0, last)];
    while let Some((from, to)) = spans.pop() {
        let between = from + 1..to;
        let distance = |index: &usize| distance(places[*index], [places[from], places[to]]);
        let farthest = between.max_by(|a, b| distance(a).total_cmp(&distance(b)));
        let Some(farthest) = farthest.filter(|index| distance(index) > APART_MAX) else {
            continue;
        };
        is_corner[farthest] = true;
        spans.extend([(from, farthest), (farthest, to)]);
    }
    let corners = places.iter().zip(is_corner);
    corners
        .filter_map(|(place, is_corner)| is_corner.then_some(*place))
        .collect()
}

/// The distance from a place to a line between two others.
fn distance([x, y]: [f64; 2], [from, to]: [[f64; 2]; 2]) -> f64 {
    let [along, down] = [to[0] - from[0], to[1] - from[1]];
    let length = along.hypot(down);
    let [from_x, from_y] = [x - from[0], y - from[1]];
    if length == 0.0 {
        return from_x.hypot(from_y);
    }
    let part = ((from_x * along + from_y * down) / (length * length)).clamp(0.0, 1.0);
    (from_x - part * along).hypot(from_y - part * down)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn corners_stay_and_places_between_them_go() {
        // Method: a step of three lines with places along them, a place twice, one place, none.
        let step = [
            [0.0, 0.0],
            [1.0, 0.0],
            [5.0, 0.1],
            [9.0, 0.0],
            [9.0, 50.0],
            [20.0, 50.0],
        ];
        assert_eq!(corners(&step), [step[0], step[3], step[4], step[5]]);
        assert_eq!(corners(&[[1.0, 2.0]; 2]), [[1.0, 2.0]; 2]);
        assert_eq!(corners(&[[1.0, 2.0]]), [[1.0, 2.0]]);
        assert_eq!(corners(&[]), [[0.0; 2]; 0]);
    }

    proptest! {
        #[test]
        fn no_place_is_far_from_the_line(heights in prop::collection::vec(0.0..260.0, 0..120)) {
            // Method: any heights along an axis; each place is near a line between two corners.
            let places = heights.iter().enumerate();
            let places: Vec<[f64; 2]> = places.map(|(x, y)| [x as f64 * 4.0, *y]).collect();
            let corners = corners(&places);
            for place in &places {
                let lines = corners.windows(2).map(|ends| distance(*place, [ends[0], ends[1]]));
                let nearest = lines.fold(f64::INFINITY, f64::min);
                prop_assert!(nearest <= APART_MAX || places.len() < 2, "{place:?}: {nearest}");
            }
        }
    }
}
