use crate::findings::prelude::*;
use abx_evidence::record::ResponseRecord;

rule! {
    in Load |load| varying(load.view.load);
    BodyVaries [Note]
        "the same request is answered with different bodies, so only the status was checked",
        "ask for a path whose answer is always the same";
}

fn varying(load: &LoadRecord) -> impl Iterator<Item = Finding> {
    let varies =
        |responses: &[ResponseRecord]| responses.iter().any(|response| response.sha256.is_none());
    let subjects = load.responses.iter().filter(move |pair| varies(pair.1));
    subjects.map(|(subject, _)| {
        let message = format!(
            "{subject} answers the same request with different bodies: only the status was \
             checked"
        );
        finding(message).about(subject)
    })
}
