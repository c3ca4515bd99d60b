//! The line for a wait during which nothing is measured.

use abx_lab::Pending;

/// The line for the current wait; empty after its end.
pub fn waiting(pending: &Pending) -> String {
    match *pending {
        Pending::Files {
            subject,
            made_bytes,
            all_bytes,
        } => abx_report::files_line(subject, made_bytes, all_bytes),
        Pending::Ready {
            subject,
            waited,
            at_most,
        } => abx_report::ready_line(subject, waited, at_most),
        Pending::Verification {
            subject,
            waited,
            at_most,
        } => abx_report::verification_line(subject, waited, at_most),
        Pending::Connections {
            subject,
            open,
            asked,
            silent,
            at_most,
        } => abx_report::opening_line(subject, (open, asked), silent, at_most),
        Pending::Try {
            subject,
            per_s,
            number,
        } => abx_report::try_line(subject, per_s, number),
        Pending::Seed { service } => abx_report::seed_line(service),
        Pending::Responses {
            subject,
            connections,
            waited,
            at_most,
        } => abx_report::responses_line(subject, connections, waited, at_most),
        Pending::Over => String::new(),
    }
}
