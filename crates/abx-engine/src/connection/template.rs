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
    /// The places of the lists that it takes lines from, each once.
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
        /// The size of the range that it is drawn from.
        count: u64,
    },
    Uuid,
    /// A line of a list, by the place of that list in [`ValuesToFill::lists`].
    Line(usize, LineList),
    BodyLength,
}

/// The state of the values that one worker's share of a load fills in.
///
/// A sequence number and a line belong to a request: they are the same everywhere in it.
pub(crate) struct ValuesToFill {
    share: ScheduleShare,
    /// Sequence numbers that were used.
    numbers: u64,
    /// The lists by name, and how many lines of each were used.
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
            // Independent of the random streams that draw requests and samples.
            random: Random::new(seed ^ 0x5851_f42d_4c95_7f2d),
            body: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Sets this worker's share of the numbers and lines.
    pub(crate) fn take_share(&mut self, share: ScheduleShare) {
        self.share = share;
    }

    fn place_of(&mut self, list: &LineList) -> usize {
        let known = self.lists.iter().position(|(name, _)| name == list.name());
        known.unwrap_or_else(|| {
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
                Piece::Random { first, count } => {
                    push_decimal(first + self.random.below(*count), out);
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
    /// [`http1::RequestError`] if it cannot be sent with any values.
    pub(crate) fn of(
        request: &RequestPlan,
        keep_alive: bool,
        values: &mut ValuesToFill,
    ) -> Result<RequestTemplate, http1::RequestError> {
        let parts = request.written(keep_alive).encode_parts()?;
        let mut cuts: Vec<(Range<usize>, Piece)> = Vec::new();
        for placeholder in &request.placeholders {
            let offset = match placeholder.part {
                PlaceholderPart::Path => parts.target,
                PlaceholderPart::Header(index) => parts.headers[index],
                PlaceholderPart::Body => parts.body,
            };
            cuts.push((
                offset + placeholder.start..offset + placeholder.end,
                piece(&placeholder.kind, values),
            ));
        }
        let is_in_body = |cut: &(Range<usize>, Piece)| cut.0.start >= parts.body;
        if cuts.iter().any(is_in_body) {
            let length = parts.length.clone().ok_or_else(|| length_error(request))?;
            cuts.push((length, Piece::BodyLength));
        }
        cuts.sort_by_key(|(range, _)| range.start);
        let head_cuts = cuts.iter().filter(|cut| !is_in_body(cut)).count();
        let body_cuts = cuts.split_off(head_cuts);
        let head = TemplateHead::Text(pieces(&parts.bytes, 0..parts.body, cuts));
        let body = pieces(&parts.bytes, parts.body..parts.bytes.len(), body_cuts);
        Ok(RequestTemplate::new(request, head, body, values))
    }

    /// The template of a request on a stream of HTTP/2.
    ///
    /// # Errors
    /// As [`RequestTemplate::of`].
    pub(crate) fn of_stream(
        request: &RequestPlan,
        is_encrypted: bool,
        values: &mut ValuesToFill,
    ) -> Result<RequestTemplate, http1::RequestError> {
        let mut cuts_of = |part: PlaceholderPart, omitted: usize| -> Vec<(Range<usize>, Piece)> {
            let placeholders = request.placeholders.iter();
            let cut = |placeholder: &RequestPlaceholder| {
                let range = placeholder.start - omitted..placeholder.end - omitted;
                (range, piece(&placeholder.kind, values))
            };
            placeholders
                .filter(|placeholder| placeholder.part == part)
                .map(cut)
                .collect()
        };
        let body_cuts = cuts_of(PlaceholderPart::Body, 0);
        let mut fields = Vec::new();
        for field in request.stream_fields(is_encrypted)? {
            let is_length = field.name == "content-length" && !body_cuts.is_empty();
            let cuts = match field.header {
                Some(_) if is_length => return Err(length_error(request)),
                Some((index, omitted)) => cuts_of(PlaceholderPart::Header(index), omitted),
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
        let body = pieces(&request.body, 0..request.body.len(), body_cuts);
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
        for placeholder in &request.placeholders {
            match &placeholder.kind {
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

    /// Replaces the contents of `out` with the next request.
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

    /// Replaces `request` with the next request.
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

    /// The next body, which is built first since the head has its length.
    fn body(&self, values: &mut ValuesToFill) -> Vec<u8> {
        let mut body = std::mem::take(&mut values.body);
        body.clear();
        values.push(&self.body, 0, &mut body);
        body
    }

    /// Advances the sequence number and the lines for the next request.
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
            count: last.saturating_sub(*first).saturating_add(1),
        },
        PlaceholderKind::Uuid => Piece::Uuid,
        PlaceholderKind::Line(list) => Piece::Line(values.place_of(list), list.clone()),
    }
}

/// The bytes of `range`, with the given pieces in place of those that are cut out.
fn pieces(bytes: &[u8], range: Range<usize>, cuts: Vec<(Range<usize>, Piece)>) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(2 * cuts.len() + 1);
    let mut from = range.start;
    let fixed = |range: Range<usize>| Piece::Fixed(Box::from(&bytes[range]));
    for (cut, piece) in cuts {
        pieces.push(fixed(from..cut.start));
        pieces.push(piece);
        from = cut.end;
    }
    pieces.push(fixed(from..range.end));
    pieces
}

/// The error for a fixed content length of a body whose length varies.
fn length_error(request: &RequestPlan) -> http1::RequestError {
    let mut headers = request.headers.iter();
    let length = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let (name, value) = length.cloned().unwrap_or_default();
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
    fn placeholders_are_filled_and_all_other_bytes_stay() {
        // Method: a number and a line in every part, four times.
        let plan = request("/S?q=L", "n S", "{\"S\":\"L\"}");
        let sent = sent(&plan, 1, ScheduleShare::WHOLE, 4);
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
    fn inputs_of_the_fuzzing_corpus_make_one_whole_request() {
        // Method: the fuzz target's body, on the corpus and mutations of it.
        abx_corpus::replay_text("request_template", 2_000, fuzz::any_text);
    }

    #[test]
    fn no_two_shares_give_the_same_number_or_line() {
        // Method: two machines, with two and three workers; all numbers of all workers differ.
        let plan = request("/S", "", "");
        let mut numbers = BTreeSet::new();
        for (machine, workers) in [(0, 2), (1, 3)] {
            for worker in 0..workers {
                let share = ScheduleShare::of(machine, 2).part(worker, workers);
                for text in sent(&plan, 1, share, 20) {
                    assert!(numbers.insert(read(&text).unwrap().0), "{text}");
                }
            }
        }
        assert_eq!(numbers.len(), 100);
    }

    #[test]
    fn a_fixed_content_length_is_refused() {
        // Method: a length that is correct for the text with placeholders, and wrong once they are
        // filled in.
        let mut plan = request("/", "", "US");
        plan.headers[0] = ("Content-Length".to_owned(), "2".to_owned());
        let error = RequestTemplate::of(&plan, true, &mut ValuesToFill::new(1)).err();
        assert!(matches!(error, Some(http1::RequestError::Framing { .. })));
    }

    proptest! {
        #[test]
        fn any_template_is_a_whole_request_with_the_correct_length(
            path in "/[a-zSRUL]{0,12}",
            header in "[a-zSRUL]{0,8}",
            body in "[a-zSRUL]{0,30}",
            seed in any::<u64>(),
        ) {
            // Method: random placeholders in each part, any seed; a server's parser reads
            // exactly one request with nothing left, and random numbers are in their range.
            let plan = request(&path, &header, &body);
            for text in sent(&plan, seed, ScheduleShare::WHOLE, 5) {
                let (_, body) = read(&text).unwrap();
                let value = text.lines().find_map(|line| line.strip_prefix("Content-Length: "));
                let length: Option<usize> = value.and_then(|value| value.parse().ok());
                prop_assert_eq!(length, Some(body.len()));
            }
            let random = request("/R", "", "");
            for text in sent(&random, seed, ScheduleShare::WHOLE, 5) {
                let number: u64 = read(&text).unwrap().0[1..].parse().unwrap();
                prop_assert!((7..=12).contains(&number));
            }
            prop_assert_eq!(
                sent(&plan, seed, ScheduleShare::WHOLE, 3),
                sent(&plan, seed, ScheduleShare::WHOLE, 3)
            );
        }

        #[test]
        fn a_stream_carries_the_same_request(
            path in "/[a-zSRUL]{0,12}",
            header in "[a-zSRUL]{0,8}",
            body in "[a-zSRUL]{0,30}",
            seed in any::<u64>(),
        ) {
            // Method: HTTP/1.1 and HTTP/2 with the same seed; the values of the text, put in the
            // plan without placeholders and encoded, give the stream.
            let plan = request(&path, &header, &body);
            let mut values = ValuesToFill::new(seed);
            let template = RequestTemplate::of_stream(&plan, false, &mut values).unwrap();
            let mut filled = plan.encode_stream(false).unwrap();
            for text in sent(&plan, seed, ScheduleShare::WHOLE, 4) {
                template.fill(&mut values, &mut filled);
                let (target, body) = read(&text).unwrap();
                let value = text.lines().find_map(|line| line.strip_prefix("b: "));
                let mut plain = plan.clone();
                (plain.path, plain.body) = (target, body.into_bytes());
                value.unwrap().clone_into(&mut plain.headers[1].1);
                let plain = plain.encode_stream(false).unwrap();
                prop_assert_eq!(format!("{:?}", filled), format!("{:?}", plain));
            }
        }

        #[test]
        fn examples_differ_and_have_no_placeholder(seed in any::<u64>()) {
            // Method: the three examples that are sent before the load, for each kind alone.
            for kind in ["S", "R", "U", "L"] {
                let plan = request(&format!("/{kind}"), "", "");
                let paths: BTreeSet<_> = (0..3)
                    .map(|number| {
                        let example = plan.example(number, seed);
                        assert!(example.placeholders.is_empty());
                        example.path
                    })
                    .collect();
                prop_assert_eq!(paths.len(), 3, "{}", kind);
            }
        }
    }
}
