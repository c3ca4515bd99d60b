use crate::findings::prelude::*;
use abx_evidence::record::{Continuation, StudyEnd};

rule! {
    in Study |study| continued(study.record);
    Continued [Note]
        "the study ended early and was continued later, so its blocks come from two separate \
         periods",
        "compare the blocks before and after the pause (`--full`); measure again in one go if the \
         machine may have changed";
}

fn continued(record: &Measured) -> impl Iterator<Item = Finding> {
    record.continuations.iter().map(|continuation| {
        let Continuation {
            block,
            paused_s,
            ended,
            rebooted,
            ..
        } = continuation;
        let blocks = counted(u64::from(*block), "block");
        let boot = if *rebooted {
            ", and the machine was restarted in between"
        } else {
            ""
        };
        finding(format!(
            "the study was continued after {blocks} and a pause of {}: {}{boot}",
            pause(*paused_s),
            reason(ended)
        ))
    })
}

/// Why a study had ended before it was continued.
fn reason(ended: &StudyEnd) -> &'static str {
    match ended {
        StudyEnd::Running => "abx had been killed",
        StudyEnd::Interrupted => "it had been stopped",
        StudyEnd::Budget => "its budget had been used up",
        StudyEnd::SubjectFailed { .. } => "a subject had failed",
        StudyEnd::ServiceFailed { .. } => "a service had failed",
        _ => "it had ended early",
    }
}

/// A time in its two largest units.
fn pause(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (0, hours, _) => format!("{hours} h {} min", minutes % 60),
        (days, ..) => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_continuation_is_reported_with_its_pause_and_its_reason() {
        // Method: a study without continuations, and one that was killed by a restart of the
        // machine and later stopped.
        let mut record = abx_fixtures::pair();
        assert_eq!(continued(&record).count(), 0);
        let killed = Continuation {
            block: 1,
            started_unix_ms: 1_750_000_100_000,
            elapsed_s: 10.0,
            paused_s: 90.4,
            ended: StudyEnd::Running,
            rebooted: true,
        };
        let stopped = Continuation {
            block: 4,
            paused_s: 7_300.0,
            ended: StudyEnd::Interrupted,
            rebooted: false,
            ..killed.clone()
        };
        record.continuations = vec![killed, stopped];
        let messages: Vec<String> = continued(&record).map(|finding| finding.message).collect();
        assert_eq!(
            messages,
            [
                "the study was continued after 1 block and a pause of 1 min 30 s: abx had been \
                 killed, and the machine was restarted in between",
                "the study was continued after 4 blocks and a pause of 2 h 1 min: it had been \
                 stopped",
            ]
        );
        assert_eq!(pause(3.2), "3 s");
        assert_eq!(pause(200_000.0), "2 d 7 h");
    }
}
