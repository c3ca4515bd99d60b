//! Bodies of fuzz targets, which tests call too: untrusted texts.

use crate::user::{PerfMap, parse_maps};
use crate::{Folded, Kallsyms};

/// Any bytes as the kernel's list of symbols.
pub fn kallsyms(bytes: &[u8]) {
    let kallsyms = Kallsyms::parse(bytes).expect("bytes are read without an error");
    for address in addresses(bytes) {
        let name = kallsyms.name(address);
        assert!(name.is_none_or(is_clean), "{name:?}");
    }
}

/// Any bytes as a list of compiled functions, and as one of memory.
pub fn perf_map(bytes: &[u8]) {
    let map = PerfMap::parse(bytes).expect("bytes are read without an error");
    for address in addresses(bytes) {
        let name = map.name(address);
        assert!(name.is_none_or(is_clean), "{name:?}");
    }
    for mapping in parse_maps(bytes) {
        assert!(
            mapping.start.checked_add(mapping.len).is_some(),
            "{mapping:?}"
        );
    }
}

/// Any bytes as folded stacks of a record.
pub fn folded(bytes: &[u8]) {
    let Ok(mut folded) = serde_json::from_slice::<Folded>(bytes) else {
        return;
    };
    let json = serde_json::to_vec(&folded).expect("stacks have a form");
    let again: Folded = serde_json::from_slice(&json).expect("what is written is read");
    assert_eq!(again, folded);
    let text = folded.to_text(&[]);
    assert!(
        text.lines().all(|line| is_clean(&line.replace(';', ""))),
        "{text}"
    );
    let samples = folded.samples();
    folded.keep_heaviest(1);
    assert_eq!(folded.samples(), samples);
}

/// Numbers at the beginning of lines, and some others.
fn addresses(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let starts: Vec<u64> = text
        .split(['\n', ' ', '-'])
        .filter_map(|word| u64::from_str_radix(word, 16).ok())
        .collect();
    starts.into_iter().chain([0, u64::MAX])
}

fn is_clean(name: &str) -> bool {
    !name
        .chars()
        .any(|character| character.is_control() || character == ';')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn inputs_kept_by_fuzzing_are_read() {
        // Method: the fuzz targets' bodies, on kept inputs and changes of them.
        abx_corpus::replay("kallsyms", 2_000, kallsyms);
        abx_corpus::replay("perf_map", 2_000, perf_map);
        abx_corpus::replay("folded_stacks", 2_000, folded);
    }

    proptest! {
        #[test]
        fn untrusted_lists_are_read(bytes in prop::collection::vec(any::<u8>(), 0..400), text in "([0-9a-f]{1,16}[ -][0-9tTrx-]{1,8} [^\n]{0,40}\n){0,20}") {
            // Method: any bytes, and lines that are almost right.
            for bytes in [&bytes[..], text.as_bytes()] {
                kallsyms(bytes);
                perf_map(bytes);
            }
        }

        #[test]
        fn untrusted_stacks_are_read(numbers in prop::collection::vec(prop::collection::vec(0_u32..4, 0..5), 4), names in prop::collection::vec("(?s).{0,5}", 0..4), lines in prop::collection::vec("user .|interrupts", 0..3), samples in prop::collection::vec(any::<u64>(), 0..5)) {
            // Method: columns of small numbers, many of which do not exist.
            let [parents, node_names, stacks, stack_lines] = numbers.try_into().unwrap();
            let form = serde_json::json!({
                "lines": lines, "names": names, "node_parents": parents,
                "node_names": node_names, "stack_nodes": stacks,
                "stack_lines": stack_lines, "stack_samples": samples,
            });
            folded(form.to_string().as_bytes());
        }
    }
}
