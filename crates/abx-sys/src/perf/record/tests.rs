use proptest::prelude::*;

use super::*;

/// A record with this kind, these flags and this body.
fn record(kind: u32, flags: u16, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(HEADER_BYTES + body.len()).unwrap();
    let mut record = kind.to_ne_bytes().to_vec();
    record.extend(flags.to_ne_bytes());
    record.extend(length.to_ne_bytes());
    record.extend(body);
    record
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Two halves of a word, as they lie in memory.
fn halves(first: u32, second: u32) -> u64 {
    let bytes = [first.to_ne_bytes(), second.to_ne_bytes()].concat();
    u64::from_ne_bytes(bytes.try_into().unwrap())
}

/// The end of a record that is no sample: thread 8 of process 7 at 99 ns on processor 1.
fn trailer() -> [u64; 3] {
    [halves(7, 8), 99, halves(1, 0)]
}

fn event<'a>(record: &'a [u8], chain: &'a mut Chain) -> RawRecord<'a> {
    assert_eq!(length(record), Some(record.len()));
    read(record, chain).unwrap()
}

#[test]
fn a_chain_is_split_at_its_markers() {
    // Method: a sample of 5 addresses in three contexts, of which one is not ours.
    let [kernel, user, guest] = [
        bindings::PERF_CONTEXT_KERNEL,
        bindings::PERF_CONTEXT_USER,
        bindings::PERF_CONTEXT_GUEST_USER,
    ];
    let chain = [
        guest,
        9,
        kernel,
        0xffff_ffff_8100_0000,
        0xffff_ffff_8100_0010,
        user,
        5,
        6,
    ];
    let head = [halves(7, 8), 99, halves(1, 0), chain.len() as u64];
    let bytes = record(
        bindings::PERF_RECORD_SAMPLE,
        0,
        &words(&[&head[..], &chain].concat()),
    );
    assert_eq!(time_ns(&bytes), Some(99));
    let expected = CpuSample {
        pid: 7,
        tid: 8,
        cpu: 1,
        time_ns: 99,
        kernel: &[0xffff_ffff_8100_0000, 0xffff_ffff_8100_0010],
        user: &[5, 6],
    };
    let mut room = Chain::default();
    let sample = event(&bytes, &mut room);
    assert_eq!(sample, RawRecord::Event(SamplerEvent::Sample(expected)));
    let mut lies = bytes.clone();
    lies[HEADER_BYTES + 24..HEADER_BYTES + 32].copy_from_slice(&u64::MAX.to_ne_bytes());
    assert_eq!(read(&lies, &mut room), None, "more addresses than bytes");
}

#[test]
fn the_life_of_processes_is_read() {
    // Method: each kind of record, with those of threads, and names that are no programs.
    let end = trailer();
    let mut path = b"/usr/sbin/nginx".to_vec();
    path.resize(24, 0);
    let head = words(&[halves(7, 8), 0x1000, 0x2000, 0x3000, 0, 42, 0, 0]);
    let mapping = [head, path, words(&end)].concat();
    let fork =
        |pid, parent| words(&[&[halves(pid, parent), halves(pid, parent), 98], &end[..]].concat());
    let exit = |pid, tid| words(&[&[halves(pid, 1), halves(tid, 1), 98], &end[..]].concat());
    let name = words(&[&[halves(7, 8), 0], &end[..]].concat());
    let lost = words(&[&[3, 17], &end[..]].concat());
    let exec = u16::try_from(bindings::PERF_RECORD_MISC_COMM_EXEC).unwrap();
    let file = MappedFile {
        pid: 7,
        start: 0x1000,
        len: 0x2000,
        offset: 0x3000,
        inode: 42,
        path: b"/usr/sbin/nginx",
    };
    let (parent, child) = (7, 9);
    let cases = [
        (
            bindings::PERF_RECORD_MMAP2,
            0,
            mapping,
            RawRecord::Event(SamplerEvent::Mapping(file)),
        ),
        (
            bindings::PERF_RECORD_FORK,
            0,
            fork(9, 7),
            RawRecord::Event(SamplerEvent::Fork { parent, child }),
        ),
        (bindings::PERF_RECORD_FORK, 0, fork(7, 7), RawRecord::Other),
        (
            bindings::PERF_RECORD_EXIT,
            0,
            exit(7, 7),
            RawRecord::Event(SamplerEvent::Exit { pid: 7 }),
        ),
        (bindings::PERF_RECORD_EXIT, 0, exit(7, 8), RawRecord::Other),
        (
            bindings::PERF_RECORD_COMM,
            exec,
            name.clone(),
            RawRecord::Event(SamplerEvent::Exec { pid: 7 }),
        ),
        (bindings::PERF_RECORD_COMM, 0, name, RawRecord::Other),
        (bindings::PERF_RECORD_LOST, 0, lost, RawRecord::Lost(17)),
        (
            bindings::PERF_RECORD_LOST_SAMPLES,
            0,
            words(&[&[5], &end[..]].concat()),
            RawRecord::Lost(5),
        ),
        (
            bindings::PERF_RECORD_THROTTLE,
            0,
            words(&[&[1, 2, 3], &end[..]].concat()),
            RawRecord::Throttled,
        ),
    ];
    for (kind, flags, body, expected) in cases {
        let bytes = record(kind, flags, &body);
        assert_eq!(time_ns(&bytes), Some(99));
        assert_eq!(event(&bytes, &mut Chain::default()), expected);
    }
}

#[test]
fn a_switch_is_of_the_thread_at_its_end() {
    // Method: a thread that gets a processor, one that waits, and one that is preempted; the body
    // names the other thread.
    let out = u16::try_from(bindings::PERF_RECORD_MISC_SWITCH_OUT).unwrap();
    let preempted = u16::try_from(bindings::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT).unwrap();
    let cases = [
        (0, SwitchDirection::In),
        (out, SwitchDirection::Out),
        (out | preempted, SwitchDirection::Preempted),
    ];
    for (flags, direction) in cases {
        let body = words(&[&[halves(3, 4)], &trailer()[..]].concat());
        let bytes = record(bindings::PERF_RECORD_SWITCH_CPU_WIDE, flags, &body);
        let expected = ThreadSwitch {
            tid: 8,
            time_ns: 99,
            direction,
        };
        let expected = RawRecord::Event(SamplerEvent::Switch(expected));
        assert_eq!(event(&bytes, &mut Chain::default()), expected);
    }
}

proptest! {
    #[test]
    fn no_bytes_are_read_past_their_end(kind in 0_u32..20, flags: u16, body in prop::collection::vec(any::<u8>(), 0..200)) {
        // Method: records of every kind with any body, and with less than their length states.
        let bytes = record(kind, flags, &body);
        let mut chain = Chain::default();
        prop_assert_eq!(length(&bytes), Some(bytes.len()));
        prop_assert_eq!(length(&bytes[..bytes.len() - 1]), None);
        let _ = time_ns(&bytes);
        if let Some(RawRecord::Event(SamplerEvent::Sample(sample))) = read(&bytes, &mut chain) {
            prop_assert!(8 * (sample.kernel.len() + sample.user.len()) <= body.len());
        }
    }
}
