use crate::findings::prelude::*;
use abx_evidence::record::ResponseRecord;

rule! {
    in Load |load| varying(load.view.load);
    BodyVaries [Note]
        "the same request gets different bodies, so abx checked only the status",
        "request a path whose response is always the same";
}

fn varying(load: &LoadRecord) -> impl Iterator<Item = Finding> {
    let varies =
        |responses: &[ResponseRecord]| responses.iter().any(|response| response.sha256.is_none());
    let subjects = load.responses.iter().filter(move |pair| varies(pair.1));
    subjects.map(|(subject, _)| {
        let message = format!(
            "{subject} sends different bodies for the same request: abx checked only the status"
        );
        finding(message).about(subject)
    })
}
