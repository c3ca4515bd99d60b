//! How arrivals are written, in flags and in JSON.

use abx_engine::schedule::{Amount, PerSecond, Replay, ReplayedRequest, StageList};
use proptest::prelude::*;

use super::*;

#[test]
fn stages_are_read_and_written_in_their_shortest_form() {
    // Method: texts and their shortest forms.
    for (text, written) in [
        ("0:20000@30s,20000@60s", "0:20000@30s,20000@1m"),
        ("5@1s", "5@1s"),
        ("5:5@1000ms", "5@1s"),
        (" 1 : 2 @ 1m 30s , 0.50@1500ms ", "1:2@1m30s,0.5@1s500ms"),
        ("10000000@24h", "10000000@1day"),
        ("0.001:007@1ns", "0.001:7@1ns"),
    ] {
        let list: StageList = text.parse().unwrap();
        assert_eq!(list.to_string(), written, "{text}");
        assert_eq!(written.parse(), Ok(list));
    }
}

#[test]
fn a_wrong_stage_is_named_with_its_remedy() {
    // Method: a text for each error, with its full message.
    let number = "is not a number from 0 to 10000000 with at most three decimals: write one such as 20000 or 0.5";
    for (text, message) in [
        (
            "",
            "there are no stages: write some, such as 0:20000@30s,20000@60s".to_owned(),
        ),
        (
            "0@5s,0:0@1s",
            "every stage is at 0, so nothing would happen: give one a value above it".to_owned(),
        ),
        (
            "5@1s,",
            "stage 2 ``: it is empty: remove the extra comma".to_owned(),
        ),
        (
            "5@1s, 20000",
            "stage 2 `20000`: it has no duration: add a time, such as 20000@60s".to_owned(),
        ),
        (
            "5@10",
            "stage 1 `5@10`: `10` is not a time: write a number and its unit, such as 30s or 500ms"
                .to_owned(),
        ),
        (
            "5@0s",
            "stage 1 `5@0s`: its duration is 0: leave it out, a jump needs no stage".to_owned(),
        ),
        (
            "5@25h",
            "stage 1 `5@25h`: it lasts longer than 24h: split it in several".to_owned(),
        ),
        ("1:2:3@5s", format!("stage 1 `1:2:3@5s`: `2:3` {number}")),
        ("@5s", format!("stage 1 `@5s`: `` {number}")),
        ("-1@5s", format!("stage 1 `-1@5s`: `-1` {number}")),
        ("20k@5s", format!("stage 1 `20k@5s`: `20k` {number}")),
    ] {
        let error = text.parse::<StageList>().expect_err(text);
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn numbers_are_exact_or_refused() {
    // Method: valid and invalid texts, and the largest number.
    for (text, thousandths) in [
        ("0", 0),
        ("0.5", 500),
        ("1.250", 1_250),
        ("10000000", Amount::MAX.thousandths()),
    ] {
        assert_eq!(text.parse::<Amount>().unwrap().thousandths(), thousandths);
    }
    for wrong in [
        "",
        ".",
        "1.",
        ".5",
        "0.0001",
        "1e3",
        "+1",
        "10000000.001",
        "99999999999999999999",
        "٣",
    ] {
        assert!(wrong.parse::<Amount>().is_err(), "{wrong}");
    }
    let zero = "0.000".parse::<PerSecond>().unwrap_err();
    assert!(zero.to_string().contains("above zero"), "{zero}");
}

#[test]
fn arrivals_are_plain_json_and_read_back() {
    // Method: a round trip of each kind, and texts that no flag accepts.
    let requests = [(0, 1), (5, 0)].map(|(due, request)| ReplayedRequest {
        due: Nanos(due),
        request,
    });
    let replay = Arrivals::Replay(Replay::new(requests.into(), Nanos(9)).unwrap());
    for (arrivals, text) in [
        (Arrivals::Closed, r#""closed""#),
        (constant("20000"), r#"{"constant":{"per_s":20000.0}}"#),
        (poisson("0.1"), r#"{"poisson":{"per_s":0.1}}"#),
        (stages("0:5@1s,5@2s"), r#"{"stages":"0:5@1s,5@2s"}"#),
        (
            replay,
            r#"{"replay":{"due_ns":[0,5],"requests":[1,0],"lasts_ns":9}}"#,
        ),
    ] {
        assert_eq!(serde_json::to_string(&arrivals).unwrap(), text);
        assert_eq!(serde_json::from_str::<Arrivals>(text).unwrap(), arrivals);
    }
    let from_number = serde_json::from_str::<Arrivals>(r#"{"constant":{"per_s":3}}"#).unwrap();
    assert_eq!(from_number, constant("3"));
    for wrong in ["0", "-1", "0.0001", "1e8", "null", "\"3\""] {
        let text = format!(r#"{{"constant":{{"per_s":{wrong}}}}}"#);
        assert!(serde_json::from_str::<Arrivals>(&text).is_err(), "{wrong}");
    }
    assert!(serde_json::from_str::<Arrivals>(r#"{"stages":"5"}"#).is_err());
    for (due, requests) in [
        ("[0]", "[1,0]"),
        ("[5,0]", "[1,0]"),
        ("[0,9]", "[1,0]"),
        ("[]", "[]"),
    ] {
        let text = format!(r#"{{"replay":{{"due_ns":{due},"requests":{requests},"lasts_ns":9}}}}"#);
        assert!(serde_json::from_str::<Arrivals>(&text).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn every_amount_survives_text_and_json(thousandths in 0_u64..=10_000_000_000) {
        // Method: round trips through text and JSON.
        let amount = Amount::from_thousandths(thousandths).unwrap();
        prop_assert_eq!(amount.to_string().parse(), Ok(amount));
        let json = serde_json::to_string(&amount).unwrap();
        prop_assert_eq!(serde_json::from_str::<Amount>(&json).unwrap(), amount);
    }

    #[test]
    fn any_text_is_a_list_that_reads_back_or_an_error(text in "[0-9.:@,smhd ]{0,40}|.{0,40}") {
        // Method: texts of the characters of stages, and of any characters.
        if let Ok(list) = text.parse::<StageList>() {
            prop_assert_eq!(list.to_string().parse(), Ok(list));
        }
    }
}
