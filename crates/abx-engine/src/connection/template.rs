//! A request with placeholders: its bytes are built each time that it is sent, in memory
//! that is reused.

#[cfg(any(test, fuzzing))]
pub mod fuzz;

use std::ops::Range;

use abx_wire::http1;
use abx_wire::http2::EncodedRequest;

use crate::plan::{
    LineList, PlaceholderKind, PlaceholderPart, RequestPlaceholder, RequestPlan, SENT_BEFORE_LOAD,
    push_decimal, push_uuid,
};
use crate::random::Random;
use crate::schedule::ScheduleShare;

/// A request whose bytes differ each time.
pub(crate) struct RequestTemplate {
    head: TemplateHead,
    body: Vec<Piece>,
    has_sequence: bool,
    /// The lists that it takes a line of, each once.
    lists: Vec<usize>,
}

enum TemplateHead {
    /// For HTTP/1.x.
    Text(Vec<Piece>),
    /// The names and values of a stream's fields.
    Fields(Vec<(String, Vec<Piece>)>),
}

enum Piece {
    Fixed(Box<[u8]>),
    Sequence,
    Random {
        first: u64,
        /// How many numbers it is drawn from.
        numbers: u64,
    },
    Uuid,
    /// A line of a list, by the place of that list among all of the load.
    Line(usize, LineList),
    BodyLength,
}

/// The values that one worker's share of a load has filled in so far.
///
/// A number and a line belong to a request: they are the same in all of its places.
pub(crate) struct ValuesToFill {
    share: ScheduleShare,
    numbers: u64,
    /// The lists, by name, and how many lines of each were given.
    lists: Vec<(String, u64)>,
    random: Random,
    /// Reused for each body.
    body: Vec<u8>,
    /// Reused for the value of each field.
    value: Vec<u8>,
}

impl ValuesToFill {
    pub(crate) fn new(seed: u64) -> ValuesToFill {
        ValuesToFill {
            share: ScheduleShare::WHOLE,
            numbers: 0,
            lists: Vec::new(),
            // A stream other than those that draw requests and samples.
            random: Random::new(seed ^ 0x5851_f42d_4c95_7f2d),
            body: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Sets which numbers, and which lines, are this worker's.
    pub(crate) fn take_share(&mut self, share: ScheduleShare) {
        self.share = share;
    }

    fn place_of(&mut self, list: &LineList) -> usize {
        let count = self.lists.iter().position(|(name, _)| name == list.name());
        count.unwrap_or_else(|| {
            self.lists.push((list.name().to_owned(), 0));
            self.lists.len() - 1
        })
    }

    fn push(&mut self, pieces: &[Piece], body_bytes: usize, out: &mut Vec<u8>) {
        for piece in pieces {
            match piece {
                Piece::Fixed(bytes) => out.extend_from_slice(bytes),
                Piece::Sequence => {
                    push_decimal(SENT_BEFORE_LOAD + self.share.nth(self.numbers), out);
                }
                Piece::Random { first, numbers } => {
                    push_decimal(first + self.random.below(*numbers), out);
                }
                Piece::Uuid => push_uuid(&mut self.random, out),
                Piece::Line(place, list) => {
                    let number = self.share.nth(self.lists[*place].1);
                    out.extend_from_slice(list.line(number).as_bytes());
                }
                Piece::BodyLength => push_decimal(body_bytes as u64, out),
            }
        }
    }
}

impl RequestTemplate {
    /// The template of a request, whose lists are recorded in `values`.
    ///
    /// # Errors
    /// [`http1::RequestError`] if it cannot be sent, whatever is filled in.
    pub(crate) fn of(
        request: &RequestPlan,
        keep_alive: bool,
        values: &mut ValuesToFill,
    ) -> Result<RequestTemplate, http1::RequestError> {
        let parts = request.written(keep_alive).encode_parts()?;
        let mut cuts: Vec<(Range<usize>, Piece)> = Vec::new();
        for request_placeholder in &request.placeholders {
            let begin = match request_placeholder.part {
                PlaceholderPart::Path => parts.target,
                PlaceholderPart::Header(index) => parts.headers[index],
                PlaceholderPart::Body => parts.body,
            };
            cuts.push((
                begin + request_placeholder.start..begin + request_placeholder.end,
                piece(&request_placeholder.kind, values),
            ));
        }
        let is_in_body = |cut: &(Range<usize>, Piece)| cut.0.start >= parts.body;
        if cuts.iter().any(is_in_body) {
            let length = parts.length.clone().ok_or_else(|| contradicts(request))?;
            cuts.push((length, Piece::BodyLength));
        }
        cuts.sort_by_key(|(place, _)| place.start);
        let in_head = cuts.iter().filter(|cut| !is_in_body(cut)).count();
        let of_body = cuts.split_off(in_head);
        let head = TemplateHead::Text(pieces(&parts.bytes, 0..parts.body, cuts));
        let body = pieces(&parts.bytes, parts.body..parts.bytes.len(), of_body);
        Ok(RequestTemplate::new(request, head, body, values))
    }

    /// The same for a stream of HTTP/2.
    ///
    /// # Errors
    /// As [`RequestTemplate::of`].
    pub(crate) fn of_stream(
        request: &RequestPlan,
        is_encrypted: bool,
        values: &mut ValuesToFill,
    ) -> Result<RequestTemplate, http1::RequestError> {
        let mut cuts_of = |part: PlaceholderPart, left_out: usize| -> Vec<(Range<usize>, Piece)> {
            let ours = request
                .placeholders
                .iter()
                .filter(|placeholder| placeholder.part == part);
            let cut = |request_placeholder: &RequestPlaceholder| {
                let place =
                    request_placeholder.start - left_out..request_placeholder.end - left_out;
                (place, piece(&request_placeholder.kind, values))
            };
            ours.map(cut).collect()
        };
        let of_body = cuts_of(PlaceholderPart::Body, 0);
        let mut fields = Vec::new();
        for field in request.stream_fields(is_encrypted)? {
            let is_length = field.name == "content-length" && !of_body.is_empty();
            let cuts = match field.header {
                Some(_) if is_length => return Err(contradicts(request)),
                Some((index, left_out)) => cuts_of(PlaceholderPart::Header(index), left_out),
                None if field.name == ":path" => cuts_of(PlaceholderPart::Path, 0),
                None => Vec::new(),
            };
            let value = if is_length {
                vec![Piece::BodyLength]
            } else {
                pieces(field.value.as_bytes(), 0..field.value.len(), cuts)
            };
            fields.push((field.name, value));
        }
        let body = pieces(&request.body, 0..request.body.len(), of_body);
        let head = TemplateHead::Fields(fields);
        Ok(RequestTemplate::new(request, head, body, values))
    }

    fn new(
        request: &RequestPlan,
        head: TemplateHead,
        body: Vec<Piece>,
        values: &mut ValuesToFill,
    ) -> RequestTemplate {
        let mut template = RequestTemplate {
            head,
            body,
            has_sequence: false,
            lists: Vec::new(),
        };
        for request_placeholder in &request.placeholders {
            match &request_placeholder.kind {
                PlaceholderKind::Sequence => template.has_sequence = true,
                PlaceholderKind::Line(list) => {
                    let place = values.place_of(list);
                    if !template.lists.contains(&place) {
                        template.lists.push(place);
                    }
                }
                PlaceholderKind::Random { .. } | PlaceholderKind::Uuid => {}
            }
        }
        template
    }

    /// Builds the next request in place of the contents of `out`.
    pub(crate) fn write(&self, values: &mut ValuesToFill, out: &mut Vec<u8>) {
        out.clear();
        let body = self.body(values);
        if let TemplateHead::Text(head) = &self.head {
            values.push(head, body.len(), out);
        }
        out.extend_from_slice(&body);
        values.body = body;
        self.count(values);
    }

    /// Builds the next request in place of this one.
    pub(crate) fn fill(&self, values: &mut ValuesToFill, request: &mut EncodedRequest) {
        let body = self.body(values);
        request.clear();
        if let TemplateHead::Fields(fields) = &self.head {
            let mut value = std::mem::take(&mut values.value);
            for (name, pieces) in fields {
                value.clear();
                values.push(pieces, body.len(), &mut value);
                let text = std::str::from_utf8(&value).expect("what is filled in is text");
                // A line may begin or end with a space, and no field may (RFC 9113, section 8.2.1).
                request.push(name, text.trim());
            }
            values.value = value;
        }
        request.set_body(&body);
        values.body = body;
        self.count(values);
    }

    /// The next body, built first since its length comes before it.
    fn body(&self, values: &mut ValuesToFill) -> Vec<u8> {
        let mut body = std::mem::take(&mut values.body);
        body.clear();
        values.push(&self.body, 0, &mut body);
        body
    }

    /// The next request has another number and other lines.
    fn count(&self, values: &mut ValuesToFill) {
        values.numbers += u64::from(self.has_sequence);
        for place in &self.lists {
            values.lists[*place].1 += 1;
        }
    }
}

fn piece(kind: &PlaceholderKind, values: &mut ValuesToFill) -> Piece {
    match kind {
        PlaceholderKind::Sequence => Piece::Sequence,
        PlaceholderKind::Random { first, last } => Piece::Random {
            first: *first,
            numbers: last.saturating_sub(*first).saturating_add(1),
        },
        PlaceholderKind::Uuid => Piece::Uuid,
        PlaceholderKind::Line(list) => Piece::Line(values.place_of(list), list.clone()),
    }
}

/// The bytes of this range, with other pieces for the places that are cut out.
fn pieces(bytes: &[u8], range: Range<usize>, cuts: Vec<(Range<usize>, Piece)>) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(2 * cuts.len() + 1);
    let mut from = range.start;
    let fixed = |range: Range<usize>| Piece::Fixed(Box::from(&bytes[range]));
    for (place, piece) in cuts {
        pieces.push(fixed(from..place.start));
        pieces.push(piece);
        from = place.end;
    }
    pieces.push(fixed(from..range.end));
    pieces
}

/// A length was given of a body that has a new one each time.
fn contradicts(request: &RequestPlan) -> http1::RequestError {
    let mut headers = request.headers.iter();
    let given = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let (name, value) = given.cloned().unwrap_or_default();
    http1::RequestError::Framing {
        name,
        value,
        body_bytes: request.body.len(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::fuzz::{read, request};
    use super::*;

    /// The first `count` requests as one worker sends them.
    fn sent(request: &RequestPlan, seed: u64, share: ScheduleShare, count: usize) -> Vec<String> {
        let mut values = ValuesToFill::new(seed);
        values.take_share(share);
        let template = RequestTemplate::of(request, true, &mut values).unwrap();
        let mut out = Vec::new();
        let sent = (0..count).map(|_| {
            template.write(&mut values, &mut out);
            String::from_utf8(out.clone()).unwrap()
        });
        sent.collect()
    }

    #[test]
    fn each_place_is_filled_and_all_else_stays() {
        // Method: a number and a line in every part, four times.
        let asked = request("/S?q=L", "n S", "{\"S\":\"L\"}");
        let sent = sent(&asked, 1, ScheduleShare::WHOLE, 4);
        let lines = ["one", "", "three", "one"];
        for (number, (text, line)) in sent.iter().zip(lines).enumerate() {
            let number = number + 3;
            let body = format!("{{\"{number}\":\"{line}\"}}");
            assert_eq!(read(text), Some((format!("/{number}?q={line}"), body)));
            assert!(text.contains(&format!("\r\nb: n {number}\r\n")), "{text}");
            assert!(text.contains("\r\na: x\r\n"), "{text}");
        }
    }

    #[test]
    fn what_fuzzing_kept_is_one_whole_request() {
        // Method: the fuzz target's body, on kept inputs and changes of them.
        abx_corpus::replay_text("request_template", 2_000, fuzz::any_text);
    }

    #[test]
    fn no_two_shares_give_the_same_number_or_line() {
        // Method: two machines with two and three workers each; all numbers of all of them.
        let asked = request("/S", "", "");
        let mut numbers = BTreeSet::new();
        for (machine, workers) in [(0, 2), (1, 3)] {
            for worker in 0..workers {
                let share = ScheduleShare::of(machine, 2).part(worker, workers);
                for text in sent(&asked, 1, share, 20) {
                    assert!(numbers.insert(read(&text).unwrap().0), "{text}");
                }
            }
        }
        assert_eq!(numbers.len(), 100);
    }

    #[test]
    fn a_length_that_was_given_is_refused() {
        // Method: right for the text as it is written, and wrong as soon as it is filled in.
        let mut asked = request("/", "", "US");
        asked.headers[0] = ("Content-Length".to_owned(), "2".to_owned());
        let error = RequestTemplate::of(&asked, true, &mut ValuesToFill::new(1)).err();
        assert!(matches!(error, Some(http1::RequestError::Framing { .. })));
    }

    proptest! {
        #[test]
        fn any_template_is_a_whole_request_with_the_right_length(
            path in "/[a-zSRUL]{0,12}",
            header in "[a-zSRUL]{0,8}",
            body in "[a-zSRUL]{0,30}",
            seed in any::<u64>(),
        ) {
            // Method: random placeholders in each part, any seed; a server's parser reads
            // exactly one request with nothing left, and random numbers are in their range.
            let asked = request(&path, &header, &body);
            for text in sent(&asked, seed, ScheduleShare::WHOLE, 5) {
                let (_, read_body) = read(&text).unwrap();
                let message = text.lines().find_map(|line| line.strip_prefix("Content-Length: "));
                let figure: Option<usize> = message.and_then(|message| message.parse().ok());
                prop_assert_eq!(figure, Some(read_body.len()));
            }
            let only = request("/R", "", "");
            for text in sent(&only, seed, ScheduleShare::WHOLE, 5) {
                let number: u64 = read(&text).unwrap().0[1..].parse().unwrap();
                prop_assert!((7..=12).contains(&number));
            }
            prop_assert_eq!(
                sent(&asked, seed, ScheduleShare::WHOLE, 3),
                sent(&asked, seed, ScheduleShare::WHOLE, 3)
            );
        }

        #[test]
        fn a_stream_carries_the_same_request(
            path in "/[a-zSRUL]{0,12}",
            header in "[a-zSRUL]{0,8}",
            body in "[a-zSRUL]{0,30}",
            seed in any::<u64>(),
        ) {
            // Method: both forms by the same seed; the values of one of them, written without
            // placeholders and encoded, give the other.
            let asked = request(&path, &header, &body);
            let mut values = ValuesToFill::new(seed);
            let template = RequestTemplate::of_stream(&asked, false, &mut values).unwrap();
            let mut filled = asked.encode_stream(false).unwrap();
            for text in sent(&asked, seed, ScheduleShare::WHOLE, 4) {
                template.fill(&mut values, &mut filled);
                let (target, body) = read(&text).unwrap();
                let value = text.lines().find_map(|line| line.strip_prefix("b: "));
                let mut plain = asked.clone();
                (plain.path, plain.body) = (target, body.into_bytes());
                value.unwrap().clone_into(&mut plain.headers[1].1);
                let plain = plain.encode_stream(false).unwrap();
                prop_assert_eq!(format!("{:?}", filled), format!("{:?}", plain));
            }
        }

        #[test]
        fn examples_differ_and_have_no_placeholder(seed in any::<u64>()) {
            // Method: the three that are sent before the load, of each kind alone.
            for kind in ["S", "R", "U", "L"] {
                let asked = request(&format!("/{kind}"), "", "");
                let paths: BTreeSet<_> = (0..3)
                    .map(|number| {
                        let example = asked.example(number, seed);
                        assert!(example.placeholders.is_empty());
                        example.path
                    })
                    .collect();
                prop_assert_eq!(paths.len(), 3, "{}", kind);
            }
        }
    }
}
