use crate::findings::prelude::*;

rule! {
    in Subject |subject| exhausted(&subject.outcomes());
    GeneratorExhausted [Void]
        "abx itself ran out of local ports, file descriptors or kernel memory for connections",
        "keep connections alive on both sides, offer less load, raise `ulimit -n`, or connect from \
         more addresses (`--local-address`)";
}

fn exhausted(outcomes: &Outcomes) -> impl Iterator<Item = Finding> {
    let kinds = [
        (
            Outcome::NoPort,
            "local ports",
            "keep connections alive on both sides, or offer less load",
        ),
        (
            Outcome::NoDescriptor,
            "file descriptors",
            "raise `ulimit -n`, or use fewer connections",
        ),
        (
            Outcome::NoMemory,
            "kernel memory for sockets",
            "raise `net.ipv4.tcp_mem` and `fs.epoll.max_user_watches`, or use fewer connections",
        ),
    ];
    kinds.into_iter().filter_map(|(outcome, what, remedy)| {
        let count = outcomes.count(outcome);
        let message = format!("abx ran out of {what} {}", counted(count, "time"));
        let finding = finding(message);
        (count > 0).then(|| finding.with_remedy(remedy))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_the_generator_are_not_failures_of_the_subject() {
        // Method: only missing ports, whose number the message states.
        let mut ports = Outcomes::default();
        [
            Outcome::Ok,
            Outcome::NoPort,
            Outcome::NoPort,
            Outcome::NoPort,
        ]
        .into_iter()
        .for_each(|outcome| ports.add(outcome));
        assert_eq!(ports.failed(), 0);
        let findings: Vec<Finding> = exhausted(&ports).collect();
        assert_eq!(findings.len(), 1);
        assert!(findings[0].message.contains("local ports 3"));
    }
}
